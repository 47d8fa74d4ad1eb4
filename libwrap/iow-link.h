/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-link.h - one running helper and what is known of it: the state machine
 * behind a relay.
 *
 * Owner: one private thread for each link reads and writes the private socket,
 * reaps the process and is the only one to change the facts.  Everybody else
 * sets wishes and waits on the condition, so that blocking and asynchronous
 * waits are the same thing.  Reference-counted: the thread outlives the relay.
 *
 * Invariant: "commit" is sent once at most, after end of file and only while a
 * caller asks for it; once "ended" is set, nothing changes any more.
 */
#ifndef IOW_LINK_H
#define IOW_LINK_H

#include "libwrap/iow-record.h"
#include "libwrap/spawn.h"

typedef struct
{
  gatomicrefcount refs;
  gboolean save;
  int wake_fd;       /* eventfd: a wish has changed */
  int pipe_path_fd;  /* for iow_pipe_probe(); -1: none */

  /* The thread's own. */
  int sock;
  IowChild child;
  GByteArray *input;  /* the beginning of a line */
  gint64 kill_at;     /* monotonic us; -1: no need */
  gboolean cancel_sent;
  IowRecord *arrived;
  GError *broken;     /* the helper cannot be listened to any more */

  /* Under the lock. */
  GMutex lock;
  GCond changed;
  gboolean want_commit;  /* wishes */
  gboolean want_cancel;
  gint64 expected_bytes; /* -1: any */
  gboolean committing;   /* an iow_relay_commit() is under way */
  gboolean waiting;      /* an iow_relay_wait() is under way */
  gboolean ready;        /* facts */
  gboolean eof;
  guint64 eof_bytes;
  gboolean commit_sent;
  gboolean ended;
  IowRecord *record;     /* nullable even then */
  IowOutcome outcome;
  GError *error;         /* NULL: success */
} IowLink;

/* Takes SOCK, CHILD and PIPE_PATH_FD over, also on failure, and starts the
 * thread. */
IowLink *iow_link_new (gboolean save, int sock, IowChild *child, int pipe_path_fd,
                       GError **error);
IowLink *iow_link_ref (IowLink *link);
void iow_link_unref (IowLink *link);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (IowLink, iow_link_unref)

/* Makes the thread look at the wishes.  Never blocks. */
void iow_link_wake (IowLink *link);

/* Wishes for the end, unless it has come.  Never blocks. */
void iow_link_cancel (IowLink *link);

/* The end as a caller sees it; the lock is held and "ended" set. */
gboolean iow_link_result (IowLink *link, GError **error);

/* While a waiter sleeps on "changed", CANCELLABLE (nullable) has to wake it.
 * Both without the lock. */
gulong iow_link_watch (IowLink *link, GCancellable *cancellable);
void iow_link_unwatch (GCancellable *cancellable, gulong id);

/* ---- blocking waits (iow-link-wait.c) ----------------------------------------- *
 *
 * TIMEOUT_MS 0: no limit.  All without the lock. */

/* Until the helper has opened the file. */
gboolean iow_link_wait_ready (IowLink *link, GCancellable *cancellable, GError **error);

/* Until the end; the caller has set "waiting", which is reset. */
gboolean iow_link_wait_end (IowLink *link, guint timeout_ms, GCancellable *cancellable,
                            GError **error);

/* Wishes for a commit and waits for the end; the caller has set "committing",
 * which is reset. */
gboolean iow_link_commit (IowLink *link, gint64 expected_bytes, guint timeout_ms, guint grace_ms,
                          GCancellable *cancellable, GError **error);

#endif
