/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tempfile.h - the file that a stream goes to before it takes FILE's place.
 *
 * Named temporary files are ".FILE.iohelper-XXXXXX" in FILE's directory, held
 * with flock(2) by whoever writes them: one that nobody holds was left by a
 * process that was killed, and the next save to FILE removes it.
 */
#ifndef IOH_TEMPFILE_H
#define IOH_TEMPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A new file without a name, mode 0600, open for reading and writing.  An fd,
 * or -errno; -EOPNOTSUPP where the file system has no such files. */
int ioh_tempfile_unnamed (int dir_fd);

/* A new file with a temporary name, locked.  An fd or -errno; the name in
 * NAME.  ANNOUNCE, if any, is called with the name set, before the file
 * exists; its -1 ends the attempt with -ECANCELED. */
int ioh_tempfile_named (int dir_fd, const char *base, char *name, size_t size,
                        int (*announce) (void *ctx, int dir_fd), void *ctx);

/* Gives the unnamed file FD a temporary name.  0 or -errno. */
int ioh_tempfile_link (int fd, int dir_fd, const char *base, char *name, size_t size);

/* Gives the unnamed file FD the name BASE, which must not exist.  0 or -errno. */
int ioh_tempfile_link_as (int fd, int dir_fd, const char *base);

/* Removes temporary files of BASE that nobody holds. */
void ioh_tempfile_sweep (int dir_fd, const char *base);

#endif
