/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * spawn.h - the only place that starts a process, and the process once it runs.
 *
 * Owner of an IowChild: whoever got it from iow_spawn(); it must be waited for
 * in the end.  Invariant: no other child of the caller's process is ever
 * reaped or signalled, and no signal disposition is touched.
 */
#ifndef IOW_SPAWN_H
#define IOW_SPAWN_H

#include <glib.h>

typedef struct
{
  GPid pid;
  int pidfd;       /* -1 where the kernel or a filter refuses pidfd_open(2) */
  gboolean gone;   /* reaped, by us or by somebody else */
  gboolean known;  /* status is valid: we reaped it */
  int status;      /* as waitpid(2) has it */
} IowChild;

/* Runs ARGV[0], an absolute path, with STDIN_FD and STDOUT_FD (-1: /dev/null)
 * and SOURCE_FDS as TARGET_FDS; stderr is inherited; nothing else is.  The
 * descriptors stay the caller's.  An exec failure is reported here. */
gboolean iow_spawn (const char *const *argv, int stdin_fd, int stdout_fd, const int *source_fds,
                    const int *target_fds, gsize n_fds, IowChild *ret_child, GError **error);

/* Waits at most TIMEOUT_MS (-1: as long as it takes) and reaps.  TRUE once the
 * process has ended, even if somebody else has reaped it. */
gboolean iow_child_wait (IowChild *child, int timeout_ms);

/* SIGKILL, if it can be sent to this process and to no other. */
void iow_child_kill (IowChild *child);

/* "killed by signal 9", "exit status 1", "status unknown". (transfer full) */
char *iow_child_describe (const IowChild *child);

/* Forgets the process. */
void iow_child_clear (IowChild *child);

#endif
