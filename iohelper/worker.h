/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * worker.h - the data plane's process and what it shares with its controller.
 *
 * The worker opens, relays, syncs and commits; the controller waits, decides
 * and reports.  They share one page of memory and a socket pair.  A thread in
 * uninterruptible sleep would keep its whole process from exiting, so they are
 * processes; the controller can always end.
 *
 * Invariant: "decision" is set once.  Whoever moves it away from UNDECIDED has
 * decided: the worker to COMMITTING just before the new file gets its name, or
 * the controller to CANCELLED.
 */
#ifndef IOH_WORKER_H
#define IOH_WORKER_H

#include "iohelper/job.h"
#include "iohelper/report.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

enum ioh_decision { IOH_UNDECIDED, IOH_DECIDED_CANCEL, IOH_DECIDED_COMMIT };

/* The signal that takes a worker out of a blocking call; no action of its own. */
#define IOH_NUDGE_SIGNAL SIGUSR2

struct ioh_shared
{
  _Atomic int decision;       /* enum ioh_decision */
  _Atomic uint64_t bytes;     /* accepted by the destination so far */
  _Atomic uint64_t granted;   /* the worker may go up to here */
  char temp_name[256];        /* a named temporary file exists; "" none */
  _Atomic bool reported;      /* the report is complete */
  struct ioh_report report;
};

enum ioh_msg_type
{
  /* to the controller */
  IOH_MSG_READY,   /* the target is open */
  IOH_MSG_EOF,     /* save: end of file, the stream passed its checks; value: bytes */
  IOH_MSG_CREDIT,  /* half of the window is used up; no answer */
  IOH_MSG_WAIT,    /* all of it is: GRANT when "granted" is past the value */
  IOH_MSG_TEMP,    /* temp_name is set; carries the directory's descriptor */
  /* to the worker */
  IOH_MSG_GRANT,   /* answers one WAIT */
  IOH_MSG_COMMIT,  /* go ahead */
};

struct ioh_msg
{
  uint64_t type;   /* enum ioh_msg_type; as wide as the value, so that there is no hole */
  uint64_t value;
};

/* Runs in the worker process, never returns.  SOCK is its end of the pair. */
_Noreturn void ioh_worker_main (const struct ioh_job *job, struct ioh_shared *shared, int sock,
                                pid_t controller);

/* It holds whatever becomes of the worker afterwards. */
static inline bool
ioh_worker_reported (struct ioh_shared *shared)
{
  return atomic_load_explicit (&shared->reported, memory_order_acquire);
}

struct ioh_worker
{
  const struct ioh_job *job;
  struct ioh_shared *shared;
  int sock;
};

/* For relay.c.  Each 0, or -1 when cancelled or the controller is gone. */
int ioh_worker_tell (struct ioh_worker *w, enum ioh_msg_type type, uint64_t value, int fd);
int ioh_worker_await_commit (struct ioh_worker *w);
int ioh_worker_checkpoint (void *worker, uint64_t moved);

/* From here on no signal changes the outcome.  False: it was cancelled. */
bool ioh_worker_decide_commit (struct ioh_worker *w);

/* Both sides: one message with at most one descriptor (-1: none).  0 or -errno;
 * receiving, -ENOTCONN when the peer is gone. */
int ioh_msg_send (int sock, enum ioh_msg_type type, uint64_t value, int fd);
int ioh_msg_receive (int sock, struct ioh_msg *msg, int *fd, bool block);

#endif
