/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * path.c - path resolution; see path.h.
 */
#include <config.h>

#include "iohelper/path.h"

#include "iohelper/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SYMLINKS_MAX 40 /* as the kernel */

const char *
ioh_proc_fd (char buf[IOH_PROC_FD_SIZE], int fd)
{
  snprintf (buf, IOH_PROC_FD_SIZE, "/proc/self/fd/%d", fd);
  return buf;
}

/* Splits PATH, opens its directory relative to DIR_FD and copies its last
 * component to BASE (which may be part of PATH).  The new fd or -errno. */
static int
open_parent (int dir_fd, const char *path, char base[NAME_MAX + 1])
{
  char dir[PATH_MAX];
  const char *slash = strrchr (path, '/');
  const char *last = slash ? slash + 1 : path;
  size_t len = slash ? (size_t) (slash - path) : 0;
  int fd;

  if (*path == '\0')
    return -ENOENT;
  if (*last == '\0' || strcmp (last, ".") == 0 || strcmp (last, "..") == 0)
    return -EISDIR;
  if (strlen (last) > NAME_MAX || len >= sizeof dir)
    return -ENAMETOOLONG;
  memcpy (dir, path, len);
  dir[len] = '\0';
  fd = ioh_openat (dir_fd, !slash ? "." : len == 0 ? "/" : dir, O_RDONLY | O_DIRECTORY, 0);
  if (fd < 0)
    return fd;
  memmove (base, last, strlen (last) + 1);
  return fd;
}

/* The text of the symbolic link BASE.  1: it is one; 0: it is none; -errno. */
static int
read_link (int dir_fd, const char *base, char link[PATH_MAX])
{
  ssize_t n = readlinkat (dir_fd, base, link, PATH_MAX);

  if (n < 0)
    return errno == EINVAL || errno == ENOENT ? 0 : -errno;
  if (n == PATH_MAX)
    return -ENAMETOOLONG;
  link[n] = '\0';
  return 1;
}

/* Follows the last component, link by link, to the directory that the file
 * itself is in. */
static int
find_directory (struct ioh_path *p, const char *path, bool no_follow)
{
  char link[PATH_MAX];
  int hops, r;

  p->dir_fd = open_parent (AT_FDCWD, path, p->base);
  if (p->dir_fd < 0)
    return p->dir_fd;
  for (hops = 0; (r = read_link (p->dir_fd, p->base, link)) > 0; hops++)
    {
      int next;

      if (no_follow || hops == SYMLINKS_MAX)
        return -ELOOP;
      next = open_parent (p->dir_fd, link, p->base);
      if (next < 0)
        return next;
      close (p->dir_fd);
      p->dir_fd = next;
    }
  return r;
}

static bool
same_file (const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int
ioh_path_resolve (struct ioh_path *p, const char *path, bool no_follow, const char **operation)
{
  struct stat there;
  int r;

  memset (p, 0, sizeof *p);
  p->dir_fd = p->file_fd = -1;
  *operation = "opening";
  /* The kernel follows the links here, and refuses those that
   * protected_symlinks forbids, also when the last one dangles. */
  p->file_fd = ioh_open (path, O_PATH | (no_follow ? O_NOFOLLOW : 0), 0);
  if (p->file_fd < 0 && p->file_fd != -ENOENT)
    return p->file_fd;
  if (p->file_fd >= 0)
    {
      if (fstat (p->file_fd, &p->st) < 0)
        return -errno;
      if (S_ISLNK (p->st.st_mode))
        return -ELOOP;
      if (S_ISDIR (p->st.st_mode))
        return -EISDIR;
      if (!S_ISREG (p->st.st_mode))
        return 0; /* never replaced, so its directory does not matter */
    }
  *operation = "opening the directory of";
  r = find_directory (p, path, no_follow);
  if (r < 0)
    return r;
  if (fstatat (p->dir_fd, p->base, &there, AT_SYMLINK_NOFOLLOW) < 0)
    return p->file_fd < 0 && errno == ENOENT ? 0 : -errno;
  /* Somebody changed the path between the two look-ups. */
  if (p->file_fd < 0 || !same_file (&there, &p->st))
    return -ESTALE;
  return 0;
}

int
ioh_path_reopen (const struct ioh_path *p, int flags)
{
  char name[IOH_PROC_FD_SIZE];

  return ioh_open (ioh_proc_fd (name, p->file_fd), flags, 0);
}

int
ioh_path_connect (const struct ioh_path *p)
{
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  char name[IOH_PROC_FD_SIZE];
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd < 0)
    return -errno;
  snprintf (addr.sun_path, sizeof addr.sun_path, "%s", ioh_proc_fd (name, p->file_fd));
  if (connect (fd, (struct sockaddr *) &addr, sizeof addr) < 0)
    {
      int err = errno;
      close (fd);
      return -err;
    }
  return fd;
}

void
ioh_path_close (struct ioh_path *p)
{
  if (p->dir_fd >= 0)
    close (p->dir_fd);
  if (p->file_fd >= 0)
    close (p->file_fd);
  p->dir_fd = p->file_fd = -1;
}
