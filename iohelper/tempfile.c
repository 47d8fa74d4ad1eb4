/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tempfile.c - temporary files; see tempfile.h.
 */
#include <config.h>

#include "iohelper/tempfile.h"

#include "iohelper/io.h"
#include "iohelper/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK ".iohelper-"
#define RANDOM_CHARS 6
#define ATTEMPTS 100

/* The part of a temporary name before its random end; BASE is cut where the
 * whole would be longer than a name may be. */
static int
stem (char *out, size_t size, const char *base)
{
  size_t room = NAME_MAX - 1 - strlen (MARK) - RANDOM_CHARS, len = strlen (base);

  return snprintf (out, size, ".%.*s" MARK, (int) (len < room ? len : room), base);
}

static void
make_name (char *name, size_t size, const char *base)
{
  static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  unsigned char dice[RANDOM_CHARS];
  char end[RANDOM_CHARS + 1];
  int n = stem (name, size, base);

  if (getrandom (dice, sizeof dice, GRND_NONBLOCK) != (ssize_t) sizeof dice)
    for (size_t i = 0; i < sizeof dice; i++)
      dice[i] = (unsigned char) ((getpid () >> i) + rand ());
  for (size_t i = 0; i < sizeof dice; i++)
    end[i] = letters[dice[i] % (sizeof letters - 1)];
  end[RANDOM_CHARS] = '\0';
  snprintf (name + n, size - (size_t) n, "%s", end);
}

int
ioh_tempfile_unnamed (int dir_fd)
{
  int fd = ioh_openat (dir_fd, ".", O_TMPFILE | O_RDWR, 0600);
  char proc[IOH_PROC_FD_SIZE];

  /* It can only get a name through /proc: better to know now. */
  if (fd >= 0 && faccessat (AT_FDCWD, ioh_proc_fd (proc, fd), F_OK, 0) < 0)
    {
      close (fd);
      return -EOPNOTSUPP;
    }
  if (fd >= 0)
    {
      (void) flock (fd, LOCK_EX | LOCK_NB); /* for the moment that it has a temporary name */
      return fd;
    }
  /* EISDIR, EINVAL and ENOENT are what file systems answer that do not know
   * the flag. */
  if (fd == -EISDIR || fd == -EINVAL || fd == -ENOENT)
    return -EOPNOTSUPP;
  return fd;
}

/* True when NAME is certainly not FD's file any more: a sweep has removed it. */
static bool
was_swept (int fd, int dir_fd, const char *name)
{
  struct stat a, b;

  if (fstatat (dir_fd, name, &b, AT_SYMLINK_NOFOLLOW) < 0)
    return errno == ENOENT;
  return fstat (fd, &a) == 0 && (a.st_dev != b.st_dev || a.st_ino != b.st_ino);
}

int
ioh_tempfile_named (int dir_fd, const char *base, char *name, size_t size,
                    int (*announce) (void *ctx, int dir_fd), void *ctx)
{
  for (int i = 0; i < ATTEMPTS; i++)
    {
      bool contested, swept;
      int fd;

      make_name (name, size, base);
      if (announce && announce (ctx, dir_fd) < 0)
        {
          *name = '\0';
          return -ECANCELED;
        }
      fd = ioh_openat (dir_fd, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0600);
      if (fd == -EEXIST)
        continue;
      if (fd < 0)
        {
          *name = '\0';
          return fd;
        }
      /* Between its birth and its lock a sweep may have taken it for a
       * leftover.  Where there are no locks there is no sweep. */
      contested = flock (fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
      swept = was_swept (fd, dir_fd, name);
      if (!contested && !swept)
        return fd;
      if (!swept)
        (void) unlinkat (dir_fd, name, 0); /* which the sweep is about to do */
      close (fd);
    }
  *name = '\0';
  return -EEXIST;
}

int
ioh_tempfile_link_as (int fd, int dir_fd, const char *base)
{
  char proc[IOH_PROC_FD_SIZE];

  if (linkat (AT_FDCWD, ioh_proc_fd (proc, fd), dir_fd, base, AT_SYMLINK_FOLLOW) < 0)
    return -errno;
  return 0;
}

int
ioh_tempfile_link (int fd, int dir_fd, const char *base, char *name, size_t size)
{
  int r = -EEXIST;

  for (int i = 0; i < ATTEMPTS && r == -EEXIST; i++)
    {
      make_name (name, size, base);
      r = ioh_tempfile_link_as (fd, dir_fd, name);
    }
  if (r < 0)
    *name = '\0';
  return r;
}

static void
remove_if_unheld (int dir_fd, const char *name)
{
  int fd = openat (dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat st;

  if (fd < 0)
    return;
  if (fstat (fd, &st) == 0 && S_ISREG (st.st_mode) && flock (fd, LOCK_EX | LOCK_NB) == 0)
    (void) unlinkat (dir_fd, name, 0);
  close (fd);
}

void
ioh_tempfile_sweep (int dir_fd, const char *base)
{
  char prefix[NAME_MAX + 1];
  size_t len = (size_t) stem (prefix, sizeof prefix, base);
  int fd = openat (dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir (fd);
  struct dirent *entry;

  if (!dir)
    {
      if (fd >= 0)
        close (fd);
      return;
    }
  while ((entry = readdir (dir)) != NULL)
    if (strncmp (entry->d_name, prefix, len) == 0
        && strlen (entry->d_name) == len + RANDOM_CHARS)
      remove_if_unheld (dir_fd, entry->d_name);
  closedir (dir);
}
