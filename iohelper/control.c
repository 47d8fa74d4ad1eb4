/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * control.c - the controller's event loop; see control.h.
 *
 * The first cause wins: "own" holds a cause that the controller found (a
 * signal, a failed command, a manager's wish), the worker's report one that it
 * found; when the controller's made it cancel the worker, the worker's is a
 * consequence.
 */
#include <config.h>

#include "iohelper/control.h"
#include "iohelper/controller.h"

#include "iohelper/clock.h"
#include "iohelper/command.h"
#include "iohelper/launch.h"
#include "iohelper/tunables.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };

#define N_HANDLED (sizeof handled / sizeof handled[0])

_Static_assert (N_HANDLED == IOH_CONTROLLER_SIGNALS, "one event for each signal");

/* ---- children ------------------------------------------------------------------------- */

static void
lost_worker (struct ioh_controller *c, int wait_status)
{
  c->worker_killed = true;
  if (c->talk_error)
    ioh_failure_errno (&c->own, IOH_END_HELPER, "talking to", "the data plane", IOH_NO_OFFSET,
                       c->talk_error, NULL);
  ioh_controller_blame_late (c);
  if (!c->own.set)
    ioh_failure_text (&c->own, IOH_FAILED, IOH_END_HELPER, "relaying", IOH_NO_OFFSET,
                      "the data plane ended unexpectedly (%s %d) after %llu bytes",
                      WIFSIGNALED (wait_status) ? "signal" : "status",
                      WIFSIGNALED (wait_status) ? WTERMSIG (wait_status)
                                                : WEXITSTATUS (wait_status),
                      (unsigned long long) atomic_load (&c->shared->bytes));
}

static void
worker_ended (struct ioh_controller *c, int wait_status)
{
  struct timeval grace = ioh_milliseconds (IOH_COMMAND_GRACE_MS);

  c->worker_gone = true;
  ioh_controller_drain (c);
  c->worker_killed = !WIFEXITED (wait_status) || WEXITSTATUS (wait_status) != 0;
  if (!ioh_worker_reported (c->shared))
    lost_worker (c, wait_status);
  /* A producer without a relay has no business; a consumer may still be at
   * work on what it got. */
  if (ioh_controller_command_runs (c) && c->job->direction == IOH_SAVE && !c->command_warned)
    event_add (c->command_late, &grace);
}

static void
command_ended (struct ioh_controller *c, int wait_status)
{
  char message[80];

  c->command_status = ioh_command_status (wait_status);
  event_del (c->command_late);
  if (c->command_status == 0 || c->job->direction != IOH_SAVE)
    {
      ioh_controller_maybe_commit (c);
      return;
    }
  snprintf (message, sizeof message, "the command that writes the stream ended with status %d",
            c->command_status);
  (void) ioh_controller_give_up (c, IOH_FAILED, IOH_END_SOURCE, "running", message);
}

static void
on_child (evutil_socket_t number, short what, void *ctx)
{
  struct ioh_controller *c = ctx;
  int status;

  (void) number;
  (void) what;
  if (!c->worker_gone && waitpid (c->worker, &status, WNOHANG) == c->worker)
    worker_ended (c, status);
  if (ioh_controller_command_runs (c) && waitpid (c->command, &status, WNOHANG) == c->command)
    command_ended (c, status);
  ioh_controller_leave_if_over (c);
}

/* ---- starting ---------------------------------------------------------------------------- */

static void
on_worker_message (evutil_socket_t fd, short what, void *ctx)
{
  (void) fd;
  (void) what;
  ioh_controller_drain (ctx);
}

static void
own_failure (struct ioh_controller *c, const char *operation, int err)
{
  ioh_failure_errno (&c->own, IOH_END_HELPER, operation, "the relay", IOH_NO_OFFSET, err, NULL);
}

/* It may have told of a temporary file. */
static void
end_worker (struct ioh_controller *c)
{
  kill (c->worker, SIGKILL);
  while (waitpid (c->worker, NULL, 0) < 0 && errno == EINTR)
    ;
  c->worker_gone = true;
  ioh_controller_drain (c);
  c->worker_killed = !ioh_worker_reported (c->shared);
}

static struct ioh_controller *starting;

/* libevent would exit without a word when it gets no descriptors. */
static void
on_fatal (int code)
{
  struct ioh_controller *c = starting;

  (void) code;
  own_failure (c, "starting events for", errno ? errno : EMFILE);
  end_worker (c);
  ioh_controller_stop_command (c, SIGKILL);
  free (c->reserve);
  _exit (ioh_controller_conclude (c));
}

static int
add_events (struct ioh_controller *c)
{
  const struct ioh_job *job = c->job;
  struct sigaction hup;
  int bad = 0;

  event_set_log_callback (ioh_controller_drop_log);
  event_set_fatal_callback (on_fatal);
  starting = c;
  c->base = event_base_new ();
  if (!c->base)
    return -ENOMEM;
  c->nudge = event_new (c->base, -1, 0, ioh_controller_on_nudge, c);
  c->command_late = event_new (c->base, -1, 0, ioh_controller_on_command_late, c);
  c->worker_event = event_new (c->base, c->sock, EV_READ | EV_PERSIST, on_worker_message, c);
  bad |= !c->nudge || !c->command_late || !c->worker_event
         || event_add (c->worker_event, NULL) < 0;
  for (size_t i = 0; i < N_HANDLED; i++)
    {
      bool nohup = handled[i] == SIGHUP && sigaction (SIGHUP, NULL, &hup) == 0
                   && hup.sa_handler == SIG_IGN;
      if (nohup)
        continue;
      c->signals[i] = evsignal_new (c->base, handled[i],
                                    handled[i] == SIGCHLD ? on_child : ioh_controller_on_signal, c);
      bad |= !c->signals[i] || event_add (c->signals[i], NULL) < 0;
    }
  if (job->commit_fd >= 0)
    {
      /* EPOLL refuses regular files; those are always readable. */
      c->commit_event = event_new (c->base, job->commit_fd, EV_READ | EV_PERSIST,
                                   ioh_controller_on_commit_fd, c);
      bad |= !c->commit_event;
      if (c->commit_event && event_add (c->commit_event, NULL) < 0)
        ioh_controller_on_commit_fd (job->commit_fd, 0, c);
    }
  if (job->manager_fd >= 0)
    {
      ioh_controller_join_manager (c);
      bad |= ioh_manager_start (&c->manager, c->base, job->manager_fd) < 0;
    }
  return bad ? -ENOMEM : 0;
}

static void
block_signals (sigset_t *before)
{
  sigset_t set;

  sigemptyset (&set);
  for (size_t i = 0; i < N_HANDLED; i++)
    sigaddset (&set, handled[i]);
  sigprocmask (SIG_BLOCK, &set, before);
}

/* COMMAND first, while we hold nothing that it could inherit. */
static bool
start (struct ioh_controller *c)
{
  const struct ioh_job *job = c->job;
  const int side[] = { job->file_fd, job->commit_fd, job->manager_fd, job->result_fd };
  sigset_t before;
  pid_t pid;
  int e;

  for (size_t i = 0; i < sizeof side / sizeof side[0]; i++)
    if (side[i] > STDERR_FILENO)
      (void) fcntl (side[i], F_SETFD, FD_CLOEXEC);
  c->shared = ioh_launch_share ();
  c->reserve = malloc (IOH_RECORD_RESERVE);
  if (!c->shared || !c->reserve)
    {
      own_failure (c, "allocating memory for", errno);
      return false;
    }
  block_signals (&before);
  if (job->command)
    c->command = ioh_command_start (job, &c->own);
  if (job->command && c->command < 0)
    {
      sigprocmask (SIG_SETMASK, &before, NULL);
      return false;
    }
  pid = ioh_launch_worker (job, c->shared, &c->sock);
  if (pid < 0)
    own_failure (c, "starting a process for", (int) -pid);
  else
    c->worker = pid;
  c->worker_gone = pid < 0;
  e = pid < 0 ? 0 : add_events (c);
  if (e < 0)
    {
      own_failure (c, "starting events for", -e);
      end_worker (c);
    }
  sigprocmask (SIG_SETMASK, &before, NULL);
  if ((pid < 0 || e < 0) && ioh_controller_command_runs (c))
    {
      ioh_controller_stop_command (c, SIGKILL);
      while (waitpid (c->command, NULL, 0) < 0 && errno == EINTR)
        ;
    }
  return pid >= 0 && e == 0;
}

/* Before the record is written: it needs the memory and the descriptors more. */
static void
stop (struct ioh_controller *c)
{
  struct event *events[] = { c->nudge, c->command_late, c->worker_event, c->commit_event };

  for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
    if (events[i])
      event_free (events[i]);
  for (size_t i = 0; i < N_HANDLED; i++)
    if (c->signals[i])
      event_free (c->signals[i]);
  ioh_manager_stop (&c->manager);
  if (c->base)
    event_base_free (c->base);
  if (c->sock >= 0)
    close (c->sock);
  free (c->reserve);
}

int
ioh_control_run (const struct ioh_job *job, int *signal)
{
  struct ioh_controller controller = { .job = job,
                                       .sock = -1,
                                       .temp_dir = -1,
                                       .command_status = -1 };
  struct ioh_controller *c = &controller;
  int status;

  c->began = ioh_now ();
  if (start (c))
    event_base_dispatch (c->base);
  c->seconds = ioh_now () - c->began;
  stop (c);
  status = ioh_controller_conclude (c);
  *signal = c->signal;
  if (c->temp_dir >= 0)
    close (c->temp_dir);
  return status;
}
