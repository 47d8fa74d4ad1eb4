/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fuse-plain.c - a FUSE file system as plain as they come, that can be told to
 * fail: no O_TMPFILE, no allocation, no attributes beyond the usual ones.
 *
 *   fuse-plain FOLDER MOUNTPOINT [RULE...]
 *
 * Shows FOLDER at MOUNTPOINT, in the foreground, until it is unmounted.  A RULE
 * is CALL=ERRNO or CALL=hang, or CALL:N=... for that call's Nth time and all
 * later ones.  The calls are those of "calls" below.  A call that hangs is told
 * on standard error and never answered: whoever waits for it cannot be killed
 * until this process is.
 */
#include <config.h>

#define FUSE_USE_VERSION 35

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum call { LOOKUP, CREATE, OPEN, READ, WRITE, FLUSH, FSYNC, FSYNCDIR, LINK, RENAME, UNLINK, N_CALLS };

static const char *const calls[N_CALLS] = {
  "lookup", "create", "open", "read", "write", "flush", "fsync", "fsyncdir", "link", "rename",
  "unlink",
};

#define HANG (-1)

static struct rule
{
  long from;                /* the first that fails; 0: none does */
  int err;                  /* errno, or HANG */
  atomic_long seen;
} rules[N_CALLS];

static int root;

/* 0, or -errno when it is this call's turn to fail. */
static int
turn (enum call call)
{
  struct rule *rule = &rules[call];
  long n = atomic_fetch_add (&rule->seen, 1) + 1;

  if (rule->from == 0 || n < rule->from)
    return 0;
  if (rule->err == HANG)
    fprintf (stderr, "fuse-plain: %s hangs\n", calls[call]);
  while (rule->err == HANG)
    pause ();
  return -rule->err;
}

/* PATH is "/", or absolute. */
static const char *
below (const char *path)
{
  return path[1] ? path + 1 : ".";
}

static int
outcome (int r)
{
  return r < 0 ? -errno : 0;
}

static int
do_getattr (const char *path, struct stat *st, struct fuse_file_info *fi)
{
  int r = fi ? 0 : turn (LOOKUP);

  if (r < 0)
    return r;
  return outcome (fi ? fstat ((int) fi->fh, st)
                     : fstatat (root, below (path), st, AT_SYMLINK_NOFOLLOW));
}

static int
keep (struct fuse_file_info *fi, int fd)
{
  if (fd < 0)
    return -errno;
  fi->fh = (uint64_t) fd;
  return 0;
}

/* O_DIRECT is between the caller and us; the folder's disk is not asked. */
static int
do_create (const char *path, mode_t mode, struct fuse_file_info *fi)
{
  int r = turn (CREATE);

  return r < 0 ? r : keep (fi, openat (root, below (path), fi->flags & ~O_DIRECT, mode));
}

static int
do_open (const char *path, struct fuse_file_info *fi)
{
  int r = turn (OPEN);

  return r < 0 ? r : keep (fi, openat (root, below (path), fi->flags & ~O_DIRECT));
}

static int
do_read (const char *path, char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
  int r = turn (READ);
  ssize_t n = r < 0 ? 0 : pread ((int) fi->fh, buf, size, offset);

  (void) path;
  return r < 0 ? r : n < 0 ? -errno : (int) n;
}

static int
do_write (const char *path, const char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
  int r = turn (WRITE);
  ssize_t n = r < 0 ? 0 : pwrite ((int) fi->fh, buf, size, offset);

  (void) path;
  return r < 0 ? r : n < 0 ? -errno : (int) n;
}

static int
do_flush (const char *path, struct fuse_file_info *fi)
{
  (void) path;
  (void) fi;
  return turn (FLUSH);
}

static int
do_release (const char *path, struct fuse_file_info *fi)
{
  (void) path;
  close ((int) fi->fh);
  return 0;
}

static int
do_fsync (const char *path, int data_only, struct fuse_file_info *fi)
{
  int r = turn (FSYNC);

  (void) path;
  return r < 0 ? r : outcome (data_only ? fdatasync ((int) fi->fh) : fsync ((int) fi->fh));
}

static int
do_fsyncdir (const char *path, int data_only, struct fuse_file_info *fi)
{
  (void) path;
  (void) data_only;
  (void) fi;
  return turn (FSYNCDIR);
}

static int
do_truncate (const char *path, off_t size, struct fuse_file_info *fi)
{
  int fd = fi ? (int) fi->fh : openat (root, below (path), O_WRONLY | O_CLOEXEC);
  int r = fd < 0 ? -errno : outcome (ftruncate (fd, size));

  if (!fi && fd >= 0)
    close (fd);
  return r;
}

static int
do_chmod (const char *path, mode_t mode, struct fuse_file_info *fi)
{
  return outcome (fi ? fchmod ((int) fi->fh, mode) : fchmodat (root, below (path), mode, 0));
}

static int
do_chown (const char *path, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
  return outcome (fi ? fchown ((int) fi->fh, uid, gid)
                     : fchownat (root, below (path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int
do_link (const char *from, const char *to)
{
  int r = turn (LINK);

  return r < 0 ? r : outcome (linkat (root, below (from), root, below (to), 0));
}

/* As many file systems: no flags, so no RENAME_NOREPLACE. */
static int
do_rename (const char *from, const char *to, unsigned flags)
{
  int r = turn (RENAME);

  if (r == 0 && flags)
    r = -EINVAL;
  return r < 0 ? r : outcome (renameat (root, below (from), root, below (to)));
}

static int
do_unlink (const char *path)
{
  int r = turn (UNLINK);

  return r < 0 ? r : outcome (unlinkat (root, below (path), 0));
}

static int
do_opendir (const char *path, struct fuse_file_info *fi)
{
  return keep (fi, openat (root, below (path), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int
do_readdir (const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
            struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
  int fd = openat ((int) fi->fh, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir (fd);
  struct dirent *entry;

  (void) path;
  (void) offset;
  (void) flags;
  if (!dir)
    return -errno;
  while ((entry = readdir (dir)) != NULL)
    fill (buf, entry->d_name, NULL, 0, 0);
  closedir (dir);
  return 0;
}

/* Nothing is remembered.  An open file that loses its name is gone, and its
 * calls come without a path, as all do that have a descriptor. */
static void *
do_init (struct fuse_conn_info *conn, struct fuse_config *config)
{
  (void) conn;
  config->use_ino = 1;
  config->hard_remove = 1;
  config->nullpath_ok = 1;
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return NULL;
}

static const struct fuse_operations operations = {
  .init = do_init,
  .getattr = do_getattr,
  .create = do_create,
  .open = do_open,
  .read = do_read,
  .write = do_write,
  .flush = do_flush,
  .release = do_release,
  .fsync = do_fsync,
  .fsyncdir = do_fsyncdir,
  .truncate = do_truncate,
  .chmod = do_chmod,
  .chown = do_chown,
  .link = do_link,
  .rename = do_rename,
  .unlink = do_unlink,
  .opendir = do_opendir,
  .readdir = do_readdir,
  .releasedir = do_release,
};

static int
number_of (const char *name)
{
  if (strcmp (name, "hang") == 0)
    return HANG;
  for (int e = 1; e < 200; e++)
    if (strerrorname_np (e) && strcmp (strerrorname_np (e), name) == 0)
      return e;
  return 0;
}

static bool
take_rule (char *text)
{
  char *value = strchr (text, '='), *nth;

  if (!value)
    return false;
  *value++ = '\0';
  nth = strchr (text, ':');
  if (nth)
    *nth++ = '\0';
  for (size_t i = 0; i < N_CALLS; i++)
    if (strcmp (calls[i], text) == 0)
      {
        rules[i].from = nth ? strtol (nth, NULL, 10) : 1;
        rules[i].err = number_of (value);
        return rules[i].from > 0 && rules[i].err != 0;
      }
  return false;
}

int
main (int argc, char **argv)
{
  char foreground[] = "-f", option[] = "-ofsname=fuse-plain,max_idle_threads=10";
  char *args[] = { argv[0], foreground, option, NULL, NULL };

  if (argc < 3 || (root = open (argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
    {
      fprintf (stderr, "usage: fuse-plain FOLDER MOUNTPOINT [CALL[:N]=ERRNO|hang...]\n");
      return 2;
    }
  for (int i = 3; i < argc; i++)
    if (!take_rule (argv[i]))
      {
        fprintf (stderr, "fuse-plain: no rule: '%s'\n", argv[i]);
        return 2;
      }
  args[3] = argv[2];
  umask (0);
  return fuse_main (4, args, &operations, NULL);
}
