/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * target.c - opens what a save writes, and puts it in place; see target.h.
 */
#include <config.h>

#include "iohelper/target.h"

#include "iohelper/attrs.h"
#include "iohelper/io.h"
#include "iohelper/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define IN_PLACE_HINT "--in-place would write to the file itself"

static int
cannot_open (struct ioh_target *t, const char *operation, int r, const char *hint)
{
  ioh_failure_opening (t->failure, IOH_END_DESTINATION, operation, t->job->file, -r, hint);
  return -1;
}

static int
usage (struct ioh_target *t, const char *what)
{
  char quoted[512];

  ioh_failure_text (t->failure, IOH_USAGE, IOH_END_DESTINATION, "opening", IOH_NO_OFFSET,
                    "%s %s", ioh_quote (quoted, sizeof quoted, t->job->file), what);
  return -1;
}

/* A block device, FIFO, socket or character device: written where it is.
 * O_EXCL on a block device is refused while it is mounted or held. */
static int
open_special (struct ioh_target *t)
{
  mode_t type = t->path.st.st_mode & S_IFMT;
  const char *hint = NULL;

  if (t->job->no_clobber)
    return usage (t, "is not a regular file; --no-clobber is for those only");
  if (type == S_IFSOCK)
    t->fd = ioh_path_connect (&t->path);
  else if (type == S_IFBLK)
    {
      t->fd = ioh_path_reopen (&t->path, O_RDWR | O_EXCL);
      hint = t->fd == -EBUSY ? "the device is in use (mounted, or held by LVM, md or dm)" : NULL;
    }
  else
    {
      if (type == S_IFIFO)
        t->will_block (t->will_block_ctx);
      t->fd = ioh_path_reopen (&t->path, O_WRONLY | O_NOCTTY);
    }
  return t->fd < 0 ? cannot_open (t, "opening", t->fd, hint) : 0;
}

static int
open_in_place (struct ioh_target *t)
{
  mode_t mode = t->job->permissions == IOH_UNSET ? 0600 : (mode_t) t->job->permissions;

  if (t->path.file_fd >= 0)
    t->fd = ioh_path_reopen (&t->path, O_RDWR);
  else
    {
      t->fd = openat (t->path.dir_fd, t->path.base,
                      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
      t->made = t->fd >= 0;
      if (t->fd < 0)
        t->fd = -errno;
      else
        (void) fchmod (t->fd, mode); /* what was asked for, whatever the umask */
    }
  return t->fd < 0 ? cannot_open (t, "opening", t->fd, NULL) : 0;
}

static int
open_atomic (struct ioh_target *t)
{
  if (t->job->offset != IOH_UNSET)
    return usage (t, "is a regular file; --offset needs --in-place there");
  ioh_tempfile_sweep (t->path.dir_fd, t->path.base);
  t->atomic = true;
  t->fd = ioh_tempfile_unnamed (t->path.dir_fd);
  if (t->fd == -EOPNOTSUPP)
    {
      t->fd = ioh_tempfile_named (t->path.dir_fd, t->path.base, t->temp_name, t->temp_size,
                                  t->announce, t->announce_ctx);
      t->named = t->fd >= 0;
    }
  if (t->fd < 0)
    return cannot_open (t, "creating a new file for", t->fd,
                        t->path.file_fd >= 0 ? IN_PLACE_HINT : NULL);
  return 0;
}

int
ioh_target_open (struct ioh_target *t)
{
  const char *operation, *hint = NULL;
  int r = ioh_path_resolve (&t->path, t->job->file, t->job->no_follow, &operation);

  t->fd = -1;
  if (r < 0)
    {
      if (r == -ELOOP && t->job->no_follow)
        hint = "it is a symbolic link, and --no-follow was given";
      else if (r == -EISDIR)
        hint = "give the name of a file in it";
      return cannot_open (t, operation, r, hint);
    }
  if (t->path.file_fd >= 0 && !S_ISREG (t->path.st.st_mode))
    return open_special (t);
  if (t->path.file_fd >= 0 && t->job->no_clobber)
    {
      char quoted[512];
      ioh_failure_text (t->failure, IOH_EXISTS, IOH_END_DESTINATION, "opening", IOH_NO_OFFSET,
                        "%s exists already; --no-clobber keeps it",
                        ioh_quote (quoted, sizeof quoted, t->job->file));
      return -1;
    }
  return t->job->in_place ? open_in_place (t) : open_atomic (t);
}

int
ioh_target_dress (struct ioh_target *t, struct ioh_report *report)
{
  uint64_t permissions = t->job->permissions;
  int r;

  if (!t->atomic)
    return 0;
  if (t->path.file_fd >= 0)
    r = ioh_attrs_copy (t->fd, t->path.file_fd, &t->path.st, permissions, report);
  else
    r = fchmod (t->fd, permissions == IOH_UNSET ? 0600 : (mode_t) permissions) < 0 ? -errno : 0;
  if (r < 0)
    ioh_failure_errno (t->failure, IOH_END_DESTINATION, "setting the mode of", t->job->file,
                       IOH_NO_OFFSET, -r, NULL);
  return r < 0 ? -1 : 0;
}

/* ---- the commit ------------------------------------------------------------ */

/* rename that refuses to replace; link + unlink where the file system does not
 * know the flag. */
static int
rename_no_replace (int dir_fd, const char *from, const char *to)
{
#ifdef HAVE_RENAMEAT2
  if (renameat2 (dir_fd, from, dir_fd, to, RENAME_NOREPLACE) == 0)
    return 0;
  if (errno != EINVAL && errno != ENOSYS)
    return -errno;
#endif
  if (linkat (dir_fd, from, dir_fd, to, 0) < 0)
    return -errno;
  (void) unlinkat (dir_fd, from, 0);
  return 0;
}

/* A new name: one atomic step.  -EEXIST when somebody made one meanwhile. */
static int
place_new (struct ioh_target *t)
{
  int dir = t->path.dir_fd;

  if (!t->named)
    return ioh_tempfile_link_as (t->fd, dir, t->path.base);
  if (t->job->no_clobber)
    return rename_no_replace (dir, t->temp_name, t->path.base);
  return -EEXIST;
}

/* linkat cannot replace, so the file takes a temporary name for an instant. */
static int
place_over (struct ioh_target *t)
{
  int dir = t->path.dir_fd, r;

  if (!t->named)
    {
      r = ioh_tempfile_link (t->fd, dir, t->path.base, t->temp_name, t->temp_size);
      if (r < 0)
        return r;
      t->named = true;
    }
  return renameat (dir, t->temp_name, dir, t->path.base) < 0 ? -errno : 0;
}

static int
not_placed (struct ioh_target *t, int r)
{
  char quoted[512];

  if (r == -EEXIST && t->job->no_clobber)
    ioh_failure_text (t->failure, IOH_EXISTS, IOH_END_DESTINATION, "creating", IOH_NO_OFFSET,
                      "%s exists already; --no-clobber keeps it",
                      ioh_quote (quoted, sizeof quoted, t->job->file));
  else
    ioh_failure_errno (t->failure, IOH_END_DESTINATION, "putting in place", t->job->file,
                       IOH_NO_OFFSET, -r,
                       r == -EBUSY ? "it may be a mount point; " IN_PLACE_HINT : NULL);
  return -1;
}

/* Bytes in a file that has lost its name are lost. */
static int
commit_in_place (struct ioh_target *t, struct ioh_report *report)
{
  struct stat open_file, named;
  char quoted[512];

  report->target = IOH_TARGET_NEW;
  if (t->path.dir_fd < 0 || fstat (t->fd, &open_file) < 0)
    return 0; /* handed over, or no regular file */
  if (fstatat (t->path.dir_fd, t->path.base, &named, AT_SYMLINK_NOFOLLOW) == 0
      && named.st_dev == open_file.st_dev && named.st_ino == open_file.st_ino)
    return 0;
  report->target = IOH_TARGET_PARTIAL;
  ioh_failure_text (t->failure, IOH_FAILED, IOH_END_DESTINATION, "putting in place", IOH_NO_OFFSET,
                    "%s was removed or replaced while it was written",
                    ioh_quote (quoted, sizeof quoted, t->job->file));
  return -1;
}

int
ioh_target_commit (struct ioh_target *t, enum ioh_sync sync, struct ioh_report *report)
{
  int r = -EEXIST;
  bool synced = false;

  if (!t->atomic)
    return commit_in_place (t, report);
  if (t->path.file_fd < 0 || t->job->no_clobber)
    r = place_new (t);
  if (r == -EEXIST && !t->job->no_clobber)
    r = place_over (t);
  if (r < 0)
    return not_placed (t, r);
  t->named = t->atomic = false;
  *t->temp_name = '\0';
  report->target = IOH_TARGET_UNSURE;
  r = sync == IOH_SYNC_FULL ? ioh_sync (t->path.dir_fd, false, &synced) : 0;
  if (r < 0)
    {
      report->synced = false;
      ioh_failure_errno (t->failure, IOH_END_DESTINATION, "syncing the directory of", t->job->file,
                         IOH_NO_OFFSET, -r, "the new file is in place");
      return -1;
    }
  report->target = IOH_TARGET_NEW;
  if (sync == IOH_SYNC_FULL && !synced)
    ioh_report_warn (report, "the file system cannot sync directories");
  return 0;
}

void
ioh_target_close (struct ioh_target *t)
{
  if (t->named)
    {
      (void) unlinkat (t->path.dir_fd, t->temp_name, 0);
      *t->temp_name = '\0';
      t->named = false;
    }
  ioh_path_close (&t->path);
}
