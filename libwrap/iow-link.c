/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-link.c - a link's life as its callers see it; see iow-link.h.
 */
#include <config.h>

#include "libwrap/iow-link.h"

#include "libwrap/iow-link-thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void
link_free (IowLink *link)
{
  iow_fd_clear (&link->wake_fd);
  iow_fd_clear (&link->pipe_path_fd);
  iow_fd_clear (&link->sock);
  iow_child_clear (&link->child);
  g_byte_array_unref (link->input);
  iow_record_free (link->arrived);
  iow_record_free (link->record);
  g_clear_error (&link->broken);
  g_clear_error (&link->error);
  g_mutex_clear (&link->lock);
  g_cond_clear (&link->changed);
  g_free (link);
}

/* No handler of the process may run on the thread: it must never be stopped
 * by one, and handlers may expect a thread that they know. */
static gboolean
start_thread (IowLink *link, GError **error)
{
  g_autoptr (GError) local = NULL;
  sigset_t all, old;
  GThread *thread;

  sigfillset (&all);
  (void) pthread_sigmask (SIG_SETMASK, &all, &old);
  thread = g_thread_try_new ("iowrap", iow_link_thread, iow_link_ref (link), &local);
  (void) pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (!thread)
    {
      iow_link_unref (link);
      g_set_error (error, IOW_ERROR, IOW_ERROR_HELPER, "starting a thread: %s", local->message);
      return FALSE;
    }
  g_thread_unref (thread);
  return TRUE;
}

IowLink *
iow_link_new (gboolean save, int sock, IowChild *child, int pipe_path_fd, GError **error)
{
  IowLink *link = g_new0 (IowLink, 1);

  g_atomic_ref_count_init (&link->refs);
  g_mutex_init (&link->lock);
  g_cond_init (&link->changed);
  link->save = save;
  link->sock = sock;
  link->child = *child;
  link->pipe_path_fd = pipe_path_fd;
  link->input = g_byte_array_new ();
  link->kill_at = -1;
  link->expected_bytes = -1;
  link->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (link->wake_fd < 0)
    iow_set_errno_error (error, IOW_END_HELPER, errno, "making an event descriptor");
  else if (iow_fd_lift (&link->wake_fd, error) && start_thread (link, error))
    return link;

  /* Nobody would listen to it; without a commit it changes nothing. */
  iow_child_kill (&link->child);
  iow_fd_clear (&link->sock);
  (void) iow_child_wait (&link->child, -1);
  iow_link_unref (link);
  return NULL;
}

IowLink *
iow_link_ref (IowLink *link)
{
  g_atomic_ref_count_inc (&link->refs);
  return link;
}

void
iow_link_unref (IowLink *link)
{
  IOW_TSAN_RELEASE (&link->refs);
  if (g_atomic_ref_count_dec (&link->refs))
    {
      IOW_TSAN_ACQUIRE (&link->refs);
      link_free (link);
    }
}

void
iow_link_wake (IowLink *link)
{
  static const guint64 one = 1;

  /* EAGAIN: the count is full, so the thread will wake in any case. */
  if (write (link->wake_fd, &one, sizeof one) < 0)
    return;
}

void
iow_link_cancel (IowLink *link)
{
  iow_lock (&link->lock);
  if (!link->ended && !link->want_cancel)
    {
      link->want_cancel = TRUE;
      iow_link_wake (link);
    }
  iow_unlock (&link->lock);
}

gboolean
iow_link_result (IowLink *link, GError **error)
{
  if (!link->error)
    return TRUE;
  if (error)
    *error = g_error_copy (link->error);
  return FALSE;
}

static void
wake_waiters (GCancellable *cancellable, gpointer data)
{
  IowLink *link = data;

  (void) cancellable;
  iow_lock (&link->lock);
  g_cond_broadcast (&link->changed);
  iow_unlock (&link->lock);
}

gulong
iow_link_watch (IowLink *link, GCancellable *cancellable)
{
  if (!cancellable)
    return 0;
  return g_cancellable_connect (cancellable, G_CALLBACK (wake_waiters), iow_link_ref (link),
                                (GDestroyNotify) iow_link_unref);
}

void
iow_link_unwatch (GCancellable *cancellable, gulong id)
{
  g_cancellable_disconnect (cancellable, id);
}
