/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * launch.h - starts the worker and divides the descriptors between the two
 * processes.
 *
 * Invariant: after the fork the data's descriptors are open in the worker
 * only (a controller that held on to a pipe would hide its end), and stderr,
 * sockets and result descriptors in the controller only (a stuck worker would
 * keep their readers waiting).
 */
#ifndef IOH_LAUNCH_H
#define IOH_LAUNCH_H

#include "iohelper/worker.h"

/* Memory that both processes share, zeroed; NULL when there is none. */
struct ioh_shared *ioh_launch_share (void);

/* Forks the worker of JOB.  The caller has blocked the signals that it wants
 * to handle.  The pid and *SOCK, or -errno. */
pid_t ioh_launch_worker (const struct ioh_job *job, struct ioh_shared *shared, int *sock);

/* In the worker, once FILE is open (it may be /dev/stdin): lets go of those of
 * the descriptors 0, 1, 2 that carry no data. */
void ioh_launch_drop_standard_fds (const struct ioh_job *job);

/* In a child of the controller that may get stuck: lets go of all that
 * somebody may wait for the end of. */
void ioh_launch_let_go (const struct ioh_job *job);

/* Puts something unusable on each of the descriptors 0, 1, 2 that is closed,
 * so that no file of ours ever gets such a number. */
void ioh_launch_guard_standard_fds (void);

/* Default dispositions and an empty mask, whatever the parent left us; SIGHUP
 * stays ignored under nohup.  SIGPIPE and SIGXFSZ come back as errors.  No
 * core dump holds a guest's memory. */
void ioh_launch_settings (void);

/* In a child that becomes another program: what we set is not for it. */
void ioh_launch_undo_settings (void);

#endif
