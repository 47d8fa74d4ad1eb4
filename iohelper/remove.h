/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * remove.h - removes a file in bounded time, whatever its storage does.
 */
#ifndef IOH_REMOVE_H
#define IOH_REMOVE_H

#include "iohelper/job.h"

/* Removes NAME in DIR_FD by a process of its own, which is waited for
 * IOH_REMOVE_MS and then left to itself.  For the controller, when SIGCHLD
 * goes nowhere any more.  True when NAME is gone. */
bool ioh_remove (const struct ioh_job *job, int dir_fd, const char *name);

#endif
