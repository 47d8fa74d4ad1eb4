/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * control.h - the controlling process: starts the worker, listens to signals,
 * the manager and the command, decides, and says how it ended.
 *
 * Invariant: it never waits for storage.  Its only waits are libevent's loop
 * and the end of a worker that has said that it is done.
 */
#ifndef IOH_CONTROL_H
#define IOH_CONTROL_H

#include "iohelper/job.h"

/* Runs JOB to its end and reports it.  The exit status; *SIGNAL is the signal
 * to die of instead, 0 for none. */
int ioh_control_run (const struct ioh_job *job, int *signal);

#endif
