/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-relay-ops.c - what is done with a relay: its descriptor, commit, wait,
 * cancel, close.
 *
 * Invariant: no lock is held while anything can block.
 */
#include <config.h>

#include "libwrap/iow-relay-private.h"

/* ---- the relay -------------------------------------------------------------------------- */

IowLink *
iow_relay_ref_link (IowRelay *relay, GError **error)
{
  IowLink *link = NULL;

  iow_lock (&relay->lock);
  if (relay->link)
    link = iow_link_ref (relay->link);
  iow_unlock (&relay->lock);
  if (!link)
    g_set_error_literal (error, IOW_ERROR, IOW_ERROR_NOT_READY,
                         "the relay is not initialised, or disposed of");
  return link;
}

int
iow_relay_get_fd (IowRelay *relay)
{
  int fd;

  g_return_val_if_fail (IOW_IS_RELAY (relay), -1);

  iow_lock (&relay->lock);
  fd = relay->fd;
  iow_unlock (&relay->lock);
  return fd;
}

int
iow_relay_steal_fd (IowRelay *relay)
{
  int fd;

  g_return_val_if_fail (IOW_IS_RELAY (relay), -1);

  iow_lock (&relay->lock);
  fd = iow_fd_steal (&relay->fd);
  iow_unlock (&relay->lock);
  return fd;
}

static void
close_own_end (IowRelay *relay)
{
  int fd = iow_relay_steal_fd (relay);

  iow_fd_clear (&fd);
}

static void
read_limits (IowRelay *relay, guint *timeout_ms, guint *grace_ms)
{
  iow_lock (&relay->lock);
  *timeout_ms = relay->wait_timeout_ms;
  *grace_ms = relay->commit_grace_ms;
  iow_unlock (&relay->lock);
}

/* One commit and one wait at a time: takes the place at *UNDER_WAY.  TRUE also
 * when the link has ended, since then nobody waits. */
static gboolean
enter (IowLink *link, gboolean *under_way, const char *what, GError **error)
{
  gboolean ok;

  iow_lock (&link->lock);
  ok = link->ended || !*under_way;
  if (ok)
    *under_way = TRUE;
  else
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_PENDING, "another %s is under way", what);
  iow_unlock (&link->lock);
  return ok;
}

gboolean
iow_relay_commit (IowRelay *relay, gint64 expected_bytes, GCancellable *cancellable,
                  GError **error)
{
  g_autoptr (IowLink) link = NULL;
  guint timeout_ms, grace_ms;

  g_return_val_if_fail (IOW_IS_RELAY (relay), FALSE);
  g_return_val_if_fail (expected_bytes >= -1, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  link = iow_relay_ref_link (relay, error);
  if (!link)
    return FALSE;
  if (!link->save)
    {
      g_set_error_literal (error, IOW_ERROR, IOW_ERROR_INVALID,
                           "a restore is not committed: wait for it");
      return FALSE;
    }
  if (!enter (link, &link->committing, "iow_relay_commit()", error))
    return FALSE;
  close_own_end (relay);
  read_limits (relay, &timeout_ms, &grace_ms);
  return iow_link_commit (link, expected_bytes, timeout_ms, grace_ms, cancellable, error);
}

gboolean
iow_relay_wait (IowRelay *relay, GCancellable *cancellable, GError **error)
{
  g_autoptr (IowLink) link = NULL;
  guint timeout_ms, grace_ms;

  g_return_val_if_fail (IOW_IS_RELAY (relay), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  link = iow_relay_ref_link (relay, error);
  if (!link || !enter (link, &link->waiting, "iow_relay_wait()", error))
    return FALSE;
  /* A read end of our own would keep the helper waiting for a hypervisor that
   * has died. */
  if (!link->save)
    close_own_end (relay);
  read_limits (relay, &timeout_ms, &grace_ms);
  return iow_link_wait_end (link, timeout_ms, cancellable, error);
}

void
iow_relay_cancel (IowRelay *relay)
{
  g_autoptr (IowLink) link = NULL;

  g_return_if_fail (IOW_IS_RELAY (relay));

  link = iow_relay_ref_link (relay, NULL);
  if (link)
    iow_link_cancel (link);
}

void
iow_relay_close (IowRelay *relay)
{
  g_return_if_fail (IOW_IS_RELAY (relay));

  /* In this order: the end of file that closing makes must not look like the
   * end of a save that may be committed. */
  iow_relay_cancel (relay);
  close_own_end (relay);
}

void
iow_relay_set_wait_timeout_ms (IowRelay *relay, guint timeout_ms)
{
  g_return_if_fail (IOW_IS_RELAY (relay));

  iow_lock (&relay->lock);
  relay->wait_timeout_ms = timeout_ms;
  iow_unlock (&relay->lock);
}
