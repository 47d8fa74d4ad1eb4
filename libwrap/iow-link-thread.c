/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-link-thread.c - carries a link from its start to its end; see iow-link.h.
 *
 * The record on the private socket decides what a relay ended as; how the
 * process ended only explains why there is no record.
 */
#include <config.h>

#include "libwrap/iow-link-thread.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A record takes 1 to 2 KiB; a name in it may take 4 KiB, six bytes a byte. */
#define LINE_MAX_BYTES (64u << 10)

/* From its last word to its end a helper has nothing left to do. */
#define REAP_MS 1000

/* The helper bounds a cancel by itself, at about 2 s. */
#define CANCEL_MS 10000

/* ---- to the helper -------------------------------------------------------------- */

static void
say (IowLink *link, const char *line)
{
  /* Two short lines are all that is ever sent, so they fit the socket's
   * buffer.  A helper that is gone is noticed by reading. */
  (void) send (link->sock, line, strlen (line), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What is wished and possible now. */
static void
carry_out_wishes (IowLink *link)
{
  g_autofree char *commit = NULL;
  gboolean cancel = FALSE;

  iow_lock (&link->lock);
  if (link->want_cancel && !link->cancel_sent)
    cancel = TRUE;
  else if (link->want_commit && link->eof && !link->commit_sent && !link->want_cancel)
    {
      commit = g_strdup_printf ("{\"" IOH_WIRE_COMMAND "\":\"" IOH_WIRE_COMMIT
                                "\",\"" IOH_WIRE_EXPECTED_BYTES "\":%" G_GINT64_FORMAT "}\n",
                                link->expected_bytes);
      link->commit_sent = TRUE;
    }
  iow_unlock (&link->lock);

  if (commit)
    say (link, commit);
  if (cancel)
    {
      say (link, "{\"" IOH_WIRE_COMMAND "\":\"" IOH_WIRE_CANCEL "\"}\n");
      link->cancel_sent = TRUE;
      link->kill_at = g_get_monotonic_time () + CANCEL_MS * G_GINT64_CONSTANT (1000);
    }
}

/* ---- from the helper -------------------------------------------------------------- */

static void
take_event (IowLink *link, IowEvent *event)
{
  if (event->kind == IOW_EVENT_RESULT)
    {
      link->arrived = event->record;
      return;
    }
  iow_lock (&link->lock);
  if (event->kind == IOW_EVENT_READY)
    link->ready = TRUE;
  else if (event->kind == IOW_EVENT_EOF && link->save && !link->eof)
    {
      link->eof = TRUE;
      link->eof_bytes = event->bytes;
    }
  g_cond_broadcast (&link->changed);
  iow_unlock (&link->lock);
}

/* All whole lines in the input, up to the result. */
static void
take_lines (IowLink *link)
{
  guint start = 0;

  while (!link->arrived && !link->broken)
    {
      const guint8 *line = link->input->data + start;
      const guint8 *newline = memchr (line, '\n', link->input->len - start);
      IowEvent event;

      if (!newline)
        break;
      if (iow_event_parse ((const char *) line, (gsize) (newline - line), &event, &link->broken))
        take_event (link, &event);
      start += (guint) (newline - line) + 1;
    }
  g_byte_array_remove_range (link->input, 0, start);
  if (link->input->len > LINE_MAX_BYTES && !link->arrived && !link->broken)
    g_set_error (&link->broken, IOW_ERROR, IOW_ERROR_HELPER,
                 "listening to the helper: a line of more than %u bytes", LINE_MAX_BYTES);
}

/* Reads all that is there.  FALSE: nothing will come any more. */
static gboolean
listen_once (IowLink *link)
{
  guint8 buf[4096];
  ssize_t n;

  while (!link->arrived && !link->broken)
    {
      n = recv (link->sock, buf, sizeof buf, MSG_DONTWAIT);
      if (n > 0)
        {
          g_byte_array_append (link->input, buf, (guint) n);
          take_lines (link);
        }
      else if (n < 0 && errno == EAGAIN)
        return TRUE;
      else if (n == 0 || errno != EINTR)
        break;
    }
  return FALSE;
}

/* ---- the end ------------------------------------------------------------------------ */

static void
kill_unless_committing (IowLink *link)
{
  gboolean commit_sent;

  iow_lock (&link->lock);
  commit_sent = link->commit_sent;
  iow_unlock (&link->lock);
  /* A helper that may be committing must be let finish: killed, it would leave
   * a file of which nobody knows whether it is the old or the new one. */
  if (!commit_sent)
    iow_child_kill (&link->child);
}

static GError *
error_without_record (IowLink *link, gboolean commit_sent)
{
  const char *unsure
    = commit_sent ? "; it was committing, so the file is the old or the new one" : "";
  g_autofree char *how = NULL;
  gboolean refused;

  if (link->broken)
    return g_error_new (IOW_ERROR, IOW_ERROR_HELPER, "%s%s", link->broken->message, unsure);
  how = iow_child_describe (&link->child);
  refused = g_strcmp0 (how, "exit status 2") == 0;
  return g_error_new (IOW_ERROR, refused ? IOW_ERROR_INVALID : IOW_ERROR_HELPER,
                      "%s: %s%s",
                      refused ? "the helper does not take this request"
                              : "the helper ended without a result",
                      how, unsure);
}

/* Holds the record against what was asked for; NULL if it is believable. */
static GError *
doubt (const IowLink *link, const IowRecord *record)
{
  gboolean committed = record->outcome == IOH_COMMITTED;
  gboolean delivered = record->outcome == IOH_DELIVERED;
  gboolean wrong_way = (committed && !link->save) || (delivered && link->save);
  gboolean unasked = committed && !link->commit_sent;
  gboolean wrong_length = committed && link->expected_bytes >= 0
                          && record->bytes != (guint64) link->expected_bytes;

  if (!wrong_way && !unasked && !wrong_length)
    return NULL;
  return g_error_new (IOW_ERROR, IOW_ERROR_HELPER,
                      "the helper says '%s', %" G_GUINT64_FORMAT " bytes, which was not asked for",
                      delivered ? "delivered" : "committed", record->bytes);
}

static void
publish (IowLink *link)
{
  iow_lock (&link->lock);
  if (link->arrived)
    {
      link->record = g_steal_pointer (&link->arrived);
      link->outcome = (IowOutcome) (link->record->outcome + 1);
      link->error = doubt (link, link->record);
      if (!link->error)
        link->error = iow_record_to_error (link->record);
    }
  else if (link->cancel_sent && !link->commit_sent)
    {
      link->outcome = IOW_OUTCOME_CANCELLED;
      link->error = g_error_new_literal (IOW_ERROR, IOW_ERROR_CANCELLED,
                                         iow_outcome_meaning (IOH_CANCELLED));
    }
  else
    {
      link->error = error_without_record (link, link->commit_sent);
      link->outcome = link->error->code == IOW_ERROR_INVALID ? IOW_OUTCOME_USAGE
                                                             : IOW_OUTCOME_FAILED;
    }
  link->ended = TRUE;
  g_cond_broadcast (&link->changed);
  iow_unlock (&link->lock);
}

static void
finish (IowLink *link)
{
  gboolean over;

  iow_fd_clear (&link->sock);
  over = iow_child_wait (&link->child, REAP_MS);
  if (!over)
    {
      kill_unless_committing (link);
      over = iow_child_wait (&link->child, REAP_MS);
    }
  publish (link);
  /* However long it takes: a process that cannot end yet is no zombie later. */
  if (!over)
    (void) iow_child_wait (&link->child, -1);
}

gpointer
iow_link_thread (gpointer data)
{
  IowLink *link = data;
  gboolean more = TRUE;

  while (more)
    {
      struct pollfd p[] = {
        { .fd = link->sock, .events = POLLIN },
        { .fd = link->wake_fd, .events = POLLIN },
        { .fd = link->child.gone ? -1 : link->child.pidfd, .events = POLLIN },
      };
      gint64 now = g_get_monotonic_time ();
      guint64 count;

      (void) poll (p, G_N_ELEMENTS (p),
                   link->kill_at < 0 ? -1 : (int) (MAX (link->kill_at - now, 0) / 1000 + 1));
      if (p[1].revents && read (link->wake_fd, &count, sizeof count) < 0 && errno == EBADF)
        break;
      if (link->kill_at >= 0 && g_get_monotonic_time () >= link->kill_at)
        {
          kill_unless_committing (link);
          link->kill_at = -1;
        }
      /* A helper that has ended has said all it had to say; the socket may
       * still be held open by a process of its own. */
      more = listen_once (link) && !p[2].revents;
      carry_out_wishes (link);
    }
  finish (link);
  iow_link_unref (link);
  return NULL;
}
