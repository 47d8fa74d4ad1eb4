/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * command.h - the COMMAND after "--": a save's producer or a restore's
 * consumer, joined to the relay by a pipe.
 */
#ifndef IOH_COMMAND_H
#define IOH_COMMAND_H

#include "iohelper/failure.h"
#include "iohelper/job.h"

#include <sys/types.h>

/* Starts job->command; its end of the pipe is its stdout (save) or stdin
 * (restore), ours takes the place of our descriptor 0 or 1.  The pid, or -1
 * with the failure set. */
pid_t ioh_command_start (const struct ioh_job *job, struct ioh_failure *failure);

/* A wait status as a shell shows it: 128 + n after signal n. */
int ioh_command_status (int wait_status);

#endif
