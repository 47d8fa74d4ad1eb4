/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fault-regs.h - what of fault.c depends on the machine: calls' numbers, and
 * the registers of a traced process that is stopped at one.
 */
#ifndef FAULT_REGS_H
#define FAULT_REGS_H

#include <stdbool.h>
#include <sys/types.h>

/* False: the functions below do nothing here. */
bool fault_supported (void);

/* The number of the call of that name, or -2; and back, "nr-N" for one without
 * a name here (valid until the next call). */
long fault_call_number (const char *name);
const char *fault_call_name (long number);

/* At a call's entry: it will not be carried out. */
void fault_skip_call (pid_t pid);

/* At a call's exit: what it returns. */
void fault_set_result (pid_t pid, long value);

/* Right after exec: runs the process until its loader is done. */
bool fault_run_to_entry (pid_t pid);

#endif
