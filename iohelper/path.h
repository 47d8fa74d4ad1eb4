/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * path.h - finds out, once, which file a path means.
 *
 * The directory is held open and all later work is relative to it, so that a
 * directory renamed under way does not send the file elsewhere.
 */
#ifndef IOH_PATH_H
#define IOH_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct ioh_path
{
  int dir_fd;               /* the directory, O_RDONLY; -1: not needed or none */
  char base[NAME_MAX + 1];  /* FILE's last component, symbolic links followed */
  int file_fd;              /* O_PATH of what exists; -1: nothing there */
  struct stat st;           /* of file_fd */
};

/* Resolves PATH; a last component that is a symbolic link is followed (as the
 * kernel's protected_symlinks allows) unless NO_FOLLOW, which gives -ELOOP.
 * 0 or -errno; *OPERATION says what failed.  A missing file is success with
 * file_fd -1; a missing directory is not. */
int ioh_path_resolve (struct ioh_path *p, const char *path, bool no_follow,
                      const char **operation);

/* Opens what file_fd names, for real.  An fd or -errno. */
int ioh_path_reopen (const struct ioh_path *p, int flags);

/* Connects to the Unix stream socket that file_fd names.  An fd or -errno. */
int ioh_path_connect (const struct ioh_path *p);

void ioh_path_close (struct ioh_path *p);

/* "/proc/self/fd/N", which names an open file without a name. */
#define IOH_PROC_FD_SIZE 40
const char *ioh_proc_fd (char buf[IOH_PROC_FD_SIZE], int fd);

#endif
