/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * attrs.h - owner, mode and extended attributes of a file that replaces
 * another.
 */
#ifndef IOH_ATTRS_H
#define IOH_ATTRS_H

#include "iohelper/report.h"

#include <sys/stat.h>

/* Gives FD the owner and the extended attributes (ACL, SELinux label, user.*)
 * of OLD_FD, whose fstat is OLD, as far as we may; then PERMISSIONS, or OLD's
 * mode when PERMISSIONS is IOH_UNSET.  What could not be kept is a warning in
 * REPORT; a group's rights are kept only with the group.  0 or -errno when the
 * mode itself cannot be set. */
int ioh_attrs_copy (int fd, int old_fd, const struct stat *old, uint64_t permissions,
                    struct ioh_report *report);

#endif
