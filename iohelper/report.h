/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * report.h - what really happened, as the worker saw it.
 *
 * Plain data without pointers: it lies in the memory that worker and
 * controller share.  The worker writes it, the controller reads it once it is
 * said to be complete; of a worker that was lost, "target" alone.
 */
#ifndef IOH_REPORT_H
#define IOH_REPORT_H

#include "iohelper/evidence.h"
#include "iohelper/failure.h"
#include "iohelper/job.h"

#define IOH_WARNINGS_MAX 6
#define IOH_WHY_MAX 160

struct ioh_report
{
  struct ioh_failure failure;
  _Atomic int target;           /* enum ioh_target_state; UNSURE from the instant that the
                                 * name is there until its directory is synced */
  enum ioh_format format;
  bool proven;                  /* the stream's own end was recognised */
  char engine[16];
  char engine_why[IOH_WHY_MAX];
  char cache[8];                /* direct | drop | keep | none */
  char cache_why[IOH_WHY_MAX];
  enum ioh_sync sync;           /* as carried out, never DEFAULT */
  bool synced;
  uint64_t pipe_size;           /* bytes, 0: the stream is no pipe */
  uint64_t buffer_size;         /* bytes */
  unsigned n_warnings;
  char warnings[IOH_WARNINGS_MAX][256];
};

/* Adds a warning for the record and for stderr; those past the array's end are
 * dropped. */
void ioh_report_warn (struct ioh_report *report, const char *format, ...)
  __attribute__ ((format (printf, 2, 3)));

#endif
