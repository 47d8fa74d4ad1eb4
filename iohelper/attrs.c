/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * attrs.c - see attrs.h.
 *
 * The order matters: a change of owner clears set-id bits, and an ACL sets the
 * group bits of the mode, so the mode comes last.
 */
#include <config.h>

#include "iohelper/attrs.h"

#include "iohelper/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The value of attribute NAME; the caller frees it.  Its size or -errno. */
static ssize_t
get_value (const char *path, const char *name, char **value)
{
  ssize_t size = getxattr (path, name, NULL, 0);

  if (size < 0)
    return -errno;
  *value = malloc ((size_t) size + 1);
  if (!*value)
    return -ENOMEM;
  size = getxattr (path, name, *value, (size_t) size);
  return size < 0 ? -errno : size;
}

static bool
has_already (int fd, const char *name, const char *value, ssize_t size)
{
  char *have = malloc ((size_t) size + 1);
  bool same = have && fgetxattr (fd, name, have, (size_t) size) == size
              && memcmp (have, value, (size_t) size) == 0;

  free (have);
  return same;
}

/* Trusted and security attributes that we may not set are the common case of
 * an unprivileged user, not worth a warning unless they would differ. */
static void
copy_one (int fd, const char *from, const char *name, struct ioh_report *report)
{
  char *value = NULL;
  ssize_t size = get_value (from, name, &value);

  if (size >= 0 && fsetxattr (fd, name, value, (size_t) size, 0) < 0)
    {
      int err = errno;
      if (!has_already (fd, name, value, size))
        ioh_report_warn (report, "attribute %s of the replaced file could not be kept: %s", name,
                         strerror (err));
    }
  free (value);
}

static void
copy_xattrs (int fd, int old_fd, struct ioh_report *report)
{
  char from[IOH_PROC_FD_SIZE], *list = NULL;
  ssize_t size;

  ioh_proc_fd (from, old_fd); /* old_fd is O_PATH, which fgetxattr refuses */
  size = listxattr (from, NULL, 0);
  if (size <= 0)
    return;
  list = malloc ((size_t) size);
  if (!list)
    return;
  size = listxattr (from, list, (size_t) size);
  for (char *name = list; size > 0 && name < list + size; name += strlen (name) + 1)
    copy_one (fd, from, name, report);
  free (list);
}

int
ioh_attrs_copy (int fd, int old_fd, const struct stat *old, uint64_t permissions,
                struct ioh_report *report)
{
  mode_t mode = old->st_mode & 07777;
  struct stat now;

  if (fstat (fd, &now) < 0)
    return -errno;
  if (now.st_gid != old->st_gid && fchown (fd, (uid_t) -1, old->st_gid) < 0)
    {
      ioh_report_warn (report, "group %lu of the replaced file could not be kept: %s",
                       (unsigned long) old->st_gid, strerror (errno));
      mode &= (mode_t) ~070;
    }
  if (now.st_uid != old->st_uid && fchown (fd, old->st_uid, (gid_t) -1) < 0)
    ioh_report_warn (report, "owner %lu of the replaced file could not be kept: %s",
                     (unsigned long) old->st_uid, strerror (errno));
  copy_xattrs (fd, old_fd, report);
  if (permissions != IOH_UNSET)
    mode = (mode_t) permissions;
  else if (mode & 044)
    ioh_report_warn (report, "the replaced file's mode %03o lets others read it; "
                             "--mode=600 would not",
                     (unsigned) mode);
  return fchmod (fd, mode) < 0 ? -errno : 0;
}
