/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * failure.h - the first cause: why a relay did not succeed, in words that the
 * record, stderr and the library all repeat unchanged.
 *
 * Plain data without pointers: it crosses from the worker to the controller
 * in shared memory.  Invariant: set once; later causes are consequences.
 */
#ifndef IOH_FAILURE_H
#define IOH_FAILURE_H

#include "iohelper/status.h"

#include <stdbool.h>
#include <stdint.h>

#define IOH_NO_OFFSET UINT64_MAX

enum ioh_end { IOH_END_NONE, IOH_END_SOURCE, IOH_END_DESTINATION, IOH_END_HELPER };

struct ioh_failure
{
  bool set;
  enum ioh_outcome outcome;
  enum ioh_end end;
  int err;              /* errno, positive; 0: not an errno */
  uint64_t offset;      /* bytes into the file or stream, or IOH_NO_OFFSET */
  char operation[40];   /* "writing" */
  char text[256];       /* "No space left on device" */
  char message[1024];   /* the whole line without the program's name */
};

/* Records "OPERATION 'OBJECT' [at offset N]: reason[; HINT]" unless a cause is
 * there already.  ERR is an errno (positive); the outcome follows from END and
 * ERR.  OFFSET may be IOH_NO_OFFSET, HINT NULL. */
void ioh_failure_errno (struct ioh_failure *f, enum ioh_end end, const char *operation,
                        const char *object, uint64_t offset, int err, const char *hint);

/* The same for a request that cannot be carried out: outcome usage, unless
 * ERR speaks of a fault rather than of the request (EIO, ENOSPC, EMFILE...). */
void ioh_failure_opening (struct ioh_failure *f, enum ioh_end end, const char *operation,
                          const char *object, int err, const char *hint);

/* Records a cause that is no errno, with OUTCOME; the text is the message. */
void ioh_failure_text (struct ioh_failure *f, enum ioh_outcome outcome, enum ioh_end end,
                       const char *operation, uint64_t offset, const char *format, ...)
  __attribute__ ((format (printf, 6, 7)));

/* "ENOSPC"; "errno 12345" where the C library knows no name.  Thread-local. */
const char *ioh_errno_name (int err);

/* NAME in single quotes, control characters shown as '?', for messages.
 * Writes at most SIZE bytes and returns BUF. */
const char *ioh_quote (char *buf, unsigned long size, const char *name);

#endif
