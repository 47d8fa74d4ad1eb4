/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-link-wait.c - blocking waits on a link.
 *
 * Invariant: a wait that is given up changes nothing but the wish to commit,
 * and that only while the helper has not been told.
 */
#include <config.h>

#include "libwrap/iow-link.h"

/* How often an overdue commit looks whether the pipe is still being drained. */
#define PROBE_MS 200

/* ---- waiting ------------------------------------------------------------------------ */

/* The times of one wait, monotonic us; -1: no limit. */
typedef struct
{
  gint64 give_up_at;
  gint64 probe_at;
} Times;

static gint64
after_ms (gint64 ms)
{
  return g_get_monotonic_time () + ms * 1000;
}

static gint64
earlier (gint64 a, gint64 b)
{
  if (a < 0 || b < 0)
    return MAX (a, b);
  return MIN (a, b);
}

/* Sleeps until something has changed.  FALSE: the wait is over, not the relay.
 * The lock is held. */
static gboolean
sleep_once (IowLink *link, const Times *times, GCancellable *cancellable, GError **error)
{
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  if (times->give_up_at >= 0 && g_get_monotonic_time () >= times->give_up_at)
    {
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
                           "the relay has not ended within the time given to this wait");
      return FALSE;
    }
  iow_cond_wait (&link->changed, &link->lock, earlier (times->give_up_at, times->probe_at));
  return TRUE;
}

/* Past the grace without end of file: is somebody holding a write end, or is
 * it only storage that is slow?  The lock is held, but let go meanwhile. */
static gboolean
writer_is_open (IowLink *link, Times *times)
{
  IowPipeState state;

  if (link->eof || g_get_monotonic_time () < times->probe_at)
    return FALSE;
  iow_unlock (&link->lock);
  state = iow_pipe_probe (link->pipe_path_fd);
  iow_lock (&link->lock);
  times->probe_at = after_ms (PROBE_MS);
  return !link->eof && !link->ended && (state == IOW_PIPE_QUIET || state == IOW_PIPE_UNKNOWN);
}

gboolean
iow_link_wait_ready (IowLink *link, GCancellable *cancellable, GError **error)
{
  const Times times = { -1, -1 };
  gulong watch = iow_link_watch (link, cancellable);
  gboolean ok = TRUE;

  iow_lock (&link->lock);
  while (ok && !link->ready && !link->ended)
    ok = sleep_once (link, &times, cancellable, error);
  /* An end without an error cannot be before "ready"; a descriptor for a
   * stream that is over would be of no use. */
  if (ok && !link->ready && iow_link_result (link, error))
    {
      g_set_error_literal (error, IOW_ERROR, IOW_ERROR_HELPER,
                           "the helper ended before it began");
      ok = FALSE;
    }
  else if (ok)
    ok = link->ready;
  iow_unlock (&link->lock);
  iow_link_unwatch (cancellable, watch);
  return ok;
}

gboolean
iow_link_wait_end (IowLink *link, guint timeout_ms, GCancellable *cancellable, GError **error)
{
  const Times times = { timeout_ms ? after_ms (timeout_ms) : -1, -1 };
  gulong watch = iow_link_watch (link, cancellable);
  gboolean ok = TRUE;

  iow_lock (&link->lock);
  while (ok && !link->ended)
    ok = sleep_once (link, &times, cancellable, error);
  if (ok)
    ok = iow_link_result (link, error);
  link->waiting = FALSE;
  iow_unlock (&link->lock);
  iow_link_unwatch (cancellable, watch);
  return ok;
}

/* The wish itself.  The lock is held. */
static gboolean
wish_commit (IowLink *link, gint64 expected_bytes, GError **error)
{
  if (link->commit_sent && link->expected_bytes != expected_bytes)
    {
      g_set_error_literal (error, IOW_ERROR, IOW_ERROR_INVALID,
                           "the helper is committing already, with another expected length");
      return FALSE;
    }
  link->expected_bytes = expected_bytes;
  link->want_commit = TRUE;
  iow_link_wake (link);
  return TRUE;
}

gboolean
iow_link_commit (IowLink *link, gint64 expected_bytes, guint timeout_ms, guint grace_ms,
                 GCancellable *cancellable, GError **error)
{
  Times times = { timeout_ms ? after_ms (timeout_ms) : -1, after_ms (grace_ms) };
  gulong watch = iow_link_watch (link, cancellable);
  gboolean ok;

  iow_lock (&link->lock);
  ok = link->ended || wish_commit (link, expected_bytes, error);
  while (ok && !link->ended)
    {
      if (link->eof)
        times.probe_at = -1;
      else if (writer_is_open (link, &times))
        {
          g_set_error_literal (error, IOW_ERROR, IOW_ERROR_WRITER_OPEN,
                               "the stream has no end: somebody holds a write end of the pipe");
          ok = FALSE;
        }
      if (ok && !link->ended)
        ok = sleep_once (link, &times, cancellable, error);
    }
  if (!link->commit_sent)
    link->want_commit = FALSE;
  link->committing = FALSE;
  if (ok)
    ok = iow_link_result (link, error);
  iow_unlock (&link->lock);
  iow_link_unwatch (cancellable, watch);
  return ok;
}
