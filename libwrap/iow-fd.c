/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-fd.c - whole reads and writes on descriptors.
 *
 * The only place in the library that reads or writes data.  One span advances
 * pointer, length and offset together.  Invariant: what moved is reported even
 * when the call fails; nothing spins: 0 from write is an error, EAGAIN polls.
 */
#include <config.h>

#include "libwrap/iow-private.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

G_STATIC_ASSERT (sizeof (off_t) == 8);

enum kind
{
  READ,
  WRITE,
  PWRITE
};

struct span
{
  guint8 *ptr;
  gsize left;
  goffset off; /* PWRITE only */
};

static gboolean
check_range (int fd, gsize count, goffset offset, GError **error)
{
  if (count > G_MAXSSIZE || offset < 0 || (guint64) count > (guint64) (G_MAXINT64 - offset))
    {
      g_set_error (error, IOW_ERROR, IOW_ERROR_INVALID,
                   "moving %" G_GSIZE_FORMAT " bytes at offset %" G_GOFFSET_FORMAT
                   " of descriptor %d: out of range",
                   count, offset, fd);
      return FALSE;
    }
  return TRUE;
}

static void
set_error (GError **error, enum kind kind, int fd, const struct span *span, int err)
{
  IowEnd end = kind == READ ? IOW_END_SOURCE : IOW_END_DESTINATION;

  if (kind == PWRITE)
    iow_set_errno_error (error, end, err, "writing descriptor %d at offset %" G_GOFFSET_FORMAT, fd,
                         span->off);
  else
    iow_set_errno_error (error, end, err, "%s descriptor %d",
                         kind == READ ? "reading" : "writing", fd);
}

/* Waits until FD is ready or CANCELLABLE triggered.  A descriptor that cannot
 * be polled counts as ready: the transfer call then says what is wrong. */
static gboolean
wait_ready (int fd, enum kind kind, GCancellable *cancellable, GError **error)
{
  struct pollfd p[2] = { { .fd = fd, .events = kind == READ ? POLLIN : POLLOUT }, { .fd = -1 } };
  GPollFD cancel;
  gboolean polled = cancellable && g_cancellable_make_pollfd (cancellable, &cancel);
  int r;

  if (polled)
    {
      p[1].fd = cancel.fd;
      p[1].events = POLLIN;
    }
  do
    r = poll (p, 2, -1);
  while (r < 0 && errno == EINTR);
  if (polled)
    g_cancellable_release_fd (cancellable);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

static ssize_t
move_once (int fd, enum kind kind, const struct span *span)
{
  gsize len = MIN (span->left, IOW_CALL_MAX);

  switch (kind)
    {
    case READ:
      return read (fd, span->ptr, len);
    case WRITE:
      return write (fd, span->ptr, len);
    case PWRITE:
    default:
      return pwrite (fd, span->ptr, len, span->off);
    }
}

/* Moves until the span is empty, end of file, or an error.  *MOVED counts. */
static gboolean
move_all (int fd, enum kind kind, struct span *span, gsize *moved, GCancellable *cancellable,
          GError **error)
{
  while (span->left > 0)
    {
      ssize_t n;

      /* With a cancellable, not even a blocking descriptor is entered before
       * it is ready. */
      if (g_cancellable_set_error_if_cancelled (cancellable, error)
          || (cancellable && !wait_ready (fd, kind, cancellable, error)))
        return FALSE;
      n = move_once (fd, kind, span);
      if (n > 0)
        {
          span->ptr += n;
          span->left -= (gsize) n;
          span->off += n;
          *moved += (gsize) n;
        }
      else if (n == 0 && kind == READ)
        return TRUE;
      else if (n == 0)
        {
          set_error (error, kind, fd, span, EIO);
          return FALSE;
        }
      else if (errno == EAGAIN)
        {
          if (!wait_ready (fd, kind, cancellable, error))
            return FALSE;
        }
      else if (errno != EINTR)
        {
          set_error (error, kind, fd, span, errno);
          return FALSE;
        }
    }
  return TRUE;
}

/* ---- SIGPIPE ---------------------------------------------------------------- *
 *
 * A pipe whose reader has left raises SIGPIPE in the writing thread.  It is
 * held back there for the time of the call and taken away if it was ours, so
 * that the caller gets an error and no disposition is touched. */

struct pipe_guard
{
  sigset_t old;
  gboolean armed;
};

static void
guard_begin (struct pipe_guard *g)
{
  sigset_t pipe_only, pending;

  sigemptyset (&pipe_only);
  sigaddset (&pipe_only, SIGPIPE);
  g->armed = sigpending (&pending) == 0 && !sigismember (&pending, SIGPIPE)
             && pthread_sigmask (SIG_BLOCK, &pipe_only, &g->old) == 0;
}

static void
guard_end (struct pipe_guard *g)
{
  static const struct timespec now;
  sigset_t pipe_only;

  if (!g->armed)
    return;
  sigemptyset (&pipe_only);
  sigaddset (&pipe_only, SIGPIPE);
  while (sigtimedwait (&pipe_only, NULL, &now) < 0 && errno == EINTR)
    ;
  (void) pthread_sigmask (SIG_SETMASK, &g->old, NULL);
}

static gboolean
write_span (int fd, enum kind kind, const void *buffer, gsize count, goffset offset,
            gsize *bytes_written, GCancellable *cancellable, GError **error)
{
  struct span span = { (guint8 *) buffer, count, offset };
  struct pipe_guard guard;
  gsize moved = 0;
  gboolean ok;

  if (bytes_written)
    *bytes_written = 0;
  if (!check_range (fd, count, offset, error))
    return FALSE;
  guard_begin (&guard);
  ok = move_all (fd, kind, &span, &moved, cancellable, error);
  guard_end (&guard);
  if (bytes_written)
    *bytes_written = moved;
  return ok;
}

/* ---- public ------------------------------------------------------------------ */

gboolean
iow_fd_read_full (int fd, void *buffer, gsize count, gsize *bytes_read, GCancellable *cancellable,
                  GError **error)
{
  struct span span = { buffer, count, 0 };
  gsize moved = 0;
  gboolean ok;

  g_return_val_if_fail (buffer != NULL || count == 0, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  ok = check_range (fd, count, 0, error)
       && move_all (fd, READ, &span, &moved, cancellable, error);
  if (bytes_read)
    *bytes_read = moved;
  return ok;
}

gboolean
iow_fd_write_all (int fd, const void *buffer, gsize count, gsize *bytes_written,
                  GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (buffer != NULL || count == 0, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return write_span (fd, WRITE, buffer, count, 0, bytes_written, cancellable, error);
}

gboolean
iow_fd_pwrite_all (int fd, const void *buffer, gsize count, goffset offset, gsize *bytes_written,
                   GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (buffer != NULL || count == 0, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return write_span (fd, PWRITE, buffer, count, offset, bytes_written, cancellable, error);
}

GBytes *
iow_fd_read_bytes (int fd, gsize count, GCancellable *cancellable, GError **error)
{
  g_autofree guint8 *buffer = NULL;
  gsize moved;

  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!check_range (fd, count, 0, error))
    return NULL;
  buffer = g_try_malloc (MAX (count, 1));
  if (!buffer)
    {
      iow_set_errno_error (error, IOW_END_HELPER, ENOMEM,
                           "making room for %" G_GSIZE_FORMAT " bytes", count);
      return NULL;
    }
  if (!iow_fd_read_full (fd, buffer, count, &moved, cancellable, error))
    return NULL;
  return g_bytes_new_take (g_realloc (g_steal_pointer (&buffer), MAX (moved, 1)), moved);
}

gboolean
iow_fd_write_bytes (int fd, GBytes *bytes, gsize *bytes_written, GCancellable *cancellable,
                    GError **error)
{
  gsize count;
  const void *data;

  g_return_val_if_fail (bytes != NULL, FALSE);

  data = g_bytes_get_data (bytes, &count);
  return iow_fd_write_all (fd, data, count, bytes_written, cancellable, error);
}

gboolean
iow_fd_pwrite_bytes (int fd, GBytes *bytes, goffset offset, gsize *bytes_written,
                     GCancellable *cancellable, GError **error)
{
  gsize count;
  const void *data;

  g_return_val_if_fail (bytes != NULL, FALSE);

  data = g_bytes_get_data (bytes, &count);
  return iow_fd_pwrite_all (fd, data, count, offset, bytes_written, cancellable, error);
}
