/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cancel.c - ends worker and COMMAND, in bounded time, whatever they wait for.
 *
 * Invariant: a relay whose commit has begun is not cancelled.  A signal then
 * only limits the time that the rest may take; what the worker has reported by
 * its end counts, and if it has not, the record says what is not known.
 */
#include <config.h>

#include "iohelper/controller.h"

#include "iohelper/clock.h"
#include "iohelper/tunables.h"

#include <stdio.h>
#include <string.h>

bool
ioh_controller_command_runs (const struct ioh_controller *c)
{
  return c->command > 0 && c->command_status < 0;
}

void
ioh_controller_leave_if_over (struct ioh_controller *c)
{
  if ((c->worker_gone || c->worker_stuck)
      && (!ioh_controller_command_runs (c) || c->command_stuck))
    event_base_loopbreak (c->base);
}

void
ioh_controller_stop_command (struct ioh_controller *c, int number)
{
  if (ioh_controller_command_runs (c))
    kill (c->command, number);
}

void
ioh_controller_blame_late (struct ioh_controller *c)
{
  if (c->own.set || !c->late.set)
    return;
  c->own = c->late;
  c->signal = c->late_signal;
}

/* Nudges the worker out of blocking calls until it leaves; then kills it; then
 * leaves without it. */
void
ioh_controller_on_nudge (evutil_socket_t fd, short what, void *ctx)
{
  struct ioh_controller *c = ctx;
  struct timeval again = ioh_milliseconds (IOH_NUDGE_MS);
  unsigned grace = c->late.set ? IOH_COMMIT_GRACE_MS : IOH_CANCEL_GRACE_MS;

  (void) fd;
  (void) what;
  c->cancelled_ms += IOH_NUDGE_MS;
  if (c->worker_gone)
    return;
  if (c->cancelled_ms >= grace + IOH_KILL_GRACE_MS)
    {
      c->worker_stuck = true;
      if (!ioh_worker_reported (c->shared))
        ioh_controller_blame_late (c);
      ioh_controller_leave_if_over (c);
      return;
    }
  if (c->cancelled_ms >= grace)
    kill (c->worker, SIGKILL);
  else if (!c->late.set)
    kill (c->worker, IOH_NUDGE_SIGNAL);
  event_add (c->nudge, &again);
}

/* COMMAND outlived its pipe. */
void
ioh_controller_on_command_late (evutil_socket_t fd, short what, void *ctx)
{
  struct ioh_controller *c = ctx;
  struct timeval grace = ioh_milliseconds (IOH_KILL_GRACE_MS);

  (void) fd;
  (void) what;
  if (!ioh_controller_command_runs (c))
    return;
  if (c->command_killed)
    {
      c->command_stuck = true;
      ioh_controller_leave_if_over (c);
      return;
    }
  c->command_killed = c->command_warned;
  ioh_controller_stop_command (c, c->command_warned ? SIGKILL : SIGTERM);
  c->command_warned = true;
  event_add (c->command_late, &grace);
}

/* False when the commit has begun: then it is carried through. */
static bool
cancel (struct ioh_controller *c)
{
  int undecided = IOH_UNDECIDED;

  if (ioh_worker_reported (c->shared)
      || !atomic_compare_exchange_strong (&c->shared->decision, &undecided, IOH_DECIDED_CANCEL))
    return undecided == IOH_DECIDED_CANCEL;
  ioh_controller_on_command_late (-1, 0, c);
  if (!c->worker_gone)
    ioh_controller_on_nudge (-1, 0, c);
  return true;
}

bool
ioh_controller_give_up (struct ioh_controller *c, enum ioh_outcome outcome, enum ioh_end end,
                        const char *operation, const char *message)
{
  if (c->own.set || !cancel (c))
    return false;
  ioh_failure_text (&c->own, outcome, end, operation, IOH_NO_OFFSET, "%s", message);
  return true;
}

bool
ioh_controller_cancel (struct ioh_controller *c, const char *why)
{
  char message[120];

  snprintf (message, sizeof message, "cancelled %s after %llu bytes", why,
            (unsigned long long) atomic_load (&c->shared->bytes));
  return ioh_controller_give_up (c, IOH_CANCELLED, IOH_END_HELPER, "cancelling", message);
}

/* Too late to cancel; but storage that hangs must not keep us for ever. */
static void
limit_commit (struct ioh_controller *c, int number)
{
  if (c->late.set)
    return;
  c->late_signal = number;
  ioh_failure_text (&c->late, IOH_CANCELLED, IOH_END_HELPER, "committing", IOH_NO_OFFSET,
                    "given up by SIG%s while committing %llu bytes", sigabbrev_np (number),
                    (unsigned long long) atomic_load (&c->shared->bytes));
  ioh_controller_on_nudge (-1, 0, c);
}

void
ioh_controller_on_signal (evutil_socket_t number, short what, void *ctx)
{
  struct ioh_controller *c = ctx;
  char why[40];

  (void) what;
  if (c->own.set)
    return;
  snprintf (why, sizeof why, "by SIG%s", sigabbrev_np ((int) number));
  if (ioh_controller_cancel (c, why))
    c->signal = (int) number;
  else if (c->worker_gone)
    ioh_controller_on_command_late (-1, 0, c); /* the relay is over, its consumer is not */
  else
    limit_commit (c, (int) number);
}
