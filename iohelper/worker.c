/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * worker.c - the worker's life: signals, the tie to its controller, the
 * waiting points of a relay.
 */
#include <config.h>

#include "iohelper/worker.h"

#include "iohelper/io.h"
#include "iohelper/relay.h"
#include "iohelper/tunables.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct ioh_shared *shared_page; /* for the cancelled() hook of io.c */

static bool
is_cancelled (void)
{
  return atomic_load_explicit (&shared_page->decision, memory_order_acquire)
         == IOH_DECIDED_CANCEL;
}

static void
on_nudge (int number)
{
  (void) number; /* its only purpose is EINTR */
}

/* The controller alone acts on a terminal's ^C or a manager's SIGTERM to the
 * group; a blocked call of ours returns EINTR on its nudge (no SA_RESTART). */
static void
set_signals (void)
{
  static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
  struct sigaction act = { .sa_handler = SIG_IGN };
  sigset_t none;

  for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
    sigaction (ignored[i], &act, NULL);
  act.sa_handler = on_nudge;
  sigaction (IOH_NUDGE_SIGNAL, &act, NULL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
}

void
ioh_worker_main (const struct ioh_job *job, struct ioh_shared *shared, int sock, pid_t controller)
{
  struct ioh_worker worker = { job, shared, sock };

  shared_page = shared;
  ioh_io_cancelled = is_cancelled;
  set_signals ();
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != controller)
    _exit (1); /* it died before the tie was made */
  ioh_relay_run (&worker);
  atomic_store_explicit (&shared->reported, true, memory_order_release);
  exit (0);
}

int
ioh_worker_tell (struct ioh_worker *w, enum ioh_msg_type type, uint64_t value, int fd)
{
  return ioh_msg_send (w->sock, type, value, fd) < 0 ? -1 : 0;
}

/* Waits for TYPE; a cancel arrives as a nudge. */
static int
await (struct ioh_worker *w, enum ioh_msg_type type)
{
  struct ioh_msg msg;
  int fd, r;

  do
    {
      if (is_cancelled ())
        return -1;
      r = ioh_msg_receive (w->sock, &msg, &fd, true);
      if (r < 0 && r != -EINTR)
        return -1;
    }
  while (r < 0 || msg.type != type);
  return 0;
}

int
ioh_worker_await_commit (struct ioh_worker *w)
{
  return await (w, IOH_MSG_COMMIT);
}

int
ioh_worker_checkpoint (void *worker, uint64_t moved)
{
  struct ioh_worker *w = worker;
  uint64_t before = atomic_load_explicit (&w->shared->bytes, memory_order_relaxed);
  uint64_t half = IOH_CREDIT_WINDOW / 2;

  atomic_store_explicit (&w->shared->bytes, moved, memory_order_release);
  if (moved / half != before / half
      && ioh_worker_tell (w, IOH_MSG_CREDIT, moved, -1) < 0)
    return -1;
  while (moved >= atomic_load_explicit (&w->shared->granted, memory_order_acquire))
    if (ioh_worker_tell (w, IOH_MSG_WAIT, moved, -1) < 0 || await (w, IOH_MSG_GRANT) < 0)
      return -1;
  return is_cancelled () ? -1 : 0;
}

bool
ioh_worker_decide_commit (struct ioh_worker *w)
{
  int undecided = IOH_UNDECIDED;

  return atomic_compare_exchange_strong (&w->shared->decision, &undecided, IOH_DECIDED_COMMIT);
}
