/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * controller.h - the controller's state, shared by control.c (the loop) and
 * the files that decide (decide.c), give up (cancel.c) and conclude
 * (conclude.c).
 */
#ifndef IOH_CONTROLLER_H
#define IOH_CONTROLLER_H

#include "iohelper/manager.h"
#include "iohelper/worker.h"

#include <event2/event.h>

#define IOH_CONTROLLER_SIGNALS 5

struct ioh_controller
{
  const struct ioh_job *job;
  struct ioh_shared *shared;
  void *reserve;            /* memory for the record */
  double began, seconds;

  pid_t worker;
  int sock;                 /* our end of the worker's pair */
  bool worker_gone;         /* reaped */
  bool worker_killed;       /* ... without a report, or by a signal */
  int talk_error;           /* errno of a message that was lost; 0: none */
  bool worker_stuck;        /* SIGKILL did not end it */
  int temp_dir;             /* directory of a named temporary file, or -1 */

  pid_t command;            /* 0: none */
  int command_status;       /* as a shell shows it; -1: not ended, or none */
  bool command_warned;      /* SIGTERM was sent */
  bool command_killed;      /* ... and SIGKILL after it */
  bool command_stuck;       /* ... which did not end it either */

  bool eof;                 /* the worker waits for the commit */
  uint64_t eof_bytes;
  bool commit_byte;         /* --commit-fd spoke */
  bool manager_commit;
  int64_t manager_expects;  /* -1: any length */
  bool commit_sent;

  struct ioh_failure own;   /* first cause, when it is ours */
  int signal;               /* that cancelled the relay */
  struct ioh_failure late;  /* "own" if the worker does not end its commit in time */
  int late_signal;
  unsigned cancelled_ms;    /* since the cancel, or since "late" */

  struct event_base *base;
  struct event *nudge, *command_late, *worker_event, *commit_event;
  struct event *signals[IOH_CONTROLLER_SIGNALS];
  struct ioh_manager manager;
};

/* cancel.c: cancels the worker for a cause of our own, MESSAGE.  False, and
 * nothing is done, when there is a cause already, the worker has reported, or
 * the commit has begun. */
bool ioh_controller_give_up (struct ioh_controller *c, enum ioh_outcome outcome, enum ioh_end end,
                             const char *operation, const char *message);

/* The same on somebody's wish; WHY is a clause: "by SIGTERM". */
bool ioh_controller_cancel (struct ioh_controller *c, const char *why);

/* The worker is lost without a report: was it for want of time? */
void ioh_controller_blame_late (struct ioh_controller *c);

bool ioh_controller_command_runs (const struct ioh_controller *c);
void ioh_controller_stop_command (struct ioh_controller *c, int number);

/* Ends the event loop once there is nothing more to wait for. */
void ioh_controller_leave_if_over (struct ioh_controller *c);

/* Events: a signal that asks for the end; the time of a worker that was told
 * to leave, and of a COMMAND that has no pipe any more, is up. */
void ioh_controller_on_signal (evutil_socket_t number, short what, void *ctx);
void ioh_controller_on_nudge (evutil_socket_t fd, short what, void *ctx);
void ioh_controller_on_command_late (evutil_socket_t fd, short what, void *ctx);

/* decide.c: takes all messages that the worker has sent. */
void ioh_controller_drain (struct ioh_controller *c);

/* Lets the worker commit once all have agreed that were to be asked. */
void ioh_controller_maybe_commit (struct ioh_controller *c);

/* Makes the manager's words arrive here. */
void ioh_controller_join_manager (struct ioh_controller *c);

/* Event on --commit-fd: a byte is a commit, its end a cancel. */
void ioh_controller_on_commit_fd (evutil_socket_t fd, short what, void *ctx);

/* What libevent would print on stderr is no line of ours. */
void ioh_controller_drop_log (int severity, const char *text);

/* conclude.c: a request that was refused before anything was started: one line
 * on stderr, and a record for the manager.  The exit status. */
int ioh_controller_refuse (const struct ioh_job *job, const char *error);

/* conclude.c: the outcome, the record, the line on stderr.  The exit status. */
int ioh_controller_conclude (struct ioh_controller *c);

#endif
