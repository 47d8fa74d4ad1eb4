/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-pipe.c - pipes: made close-on-exec, grown as far as the system allows,
 * looked into without disturbing them.
 *
 * Invariant: a pipe that cannot be grown is slower, never an error.
 */
#include <config.h>

#include "libwrap/iow-private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define PIPE_MAX_FALLBACK_BYTES (1 << 20) /* the kernel's own default for pipe-max-size */

void
iow_fd_clear (int *fd)
{
  int saved = errno;

  /* Linux frees the number even when close() is interrupted. */
  if (*fd >= 0)
    (void) close (*fd);
  *fd = -1;
  errno = saved;
}

gboolean
iow_fd_lift (int *fd, GError **error)
{
  int lifted;

  if (*fd > STDERR_FILENO)
    return TRUE;
  lifted = fcntl (*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (lifted < 0)
    {
      iow_set_errno_error (error, IOW_END_HELPER, errno, "duplicating descriptor %d", *fd);
      return FALSE;
    }
  iow_fd_clear (fd);
  *fd = lifted;
  return TRUE;
}

static int
pipe_max_size_bytes (void)
{
  char text[24];
  gint64 value = 0;
  int fd = open ("/proc/sys/fs/pipe-max-size", O_RDONLY | O_CLOEXEC);

  if (fd >= 0)
    {
      ssize_t n = read (fd, text, sizeof text - 1);

      if (n > 0)
        {
          text[n] = '\0';
          value = g_ascii_strtoll (text, NULL, 10);
        }
      iow_fd_clear (&fd);
    }
  return value > 0 && value <= INT_MAX ? (int) value : PIPE_MAX_FALLBACK_BYTES;
}

gsize
iow_pipe_grow (int fd, GError **error)
{
  int size = fcntl (fd, F_GETPIPE_SZ);

  g_return_val_if_fail (error == NULL || *error == NULL, 0);

  if (size < 0)
    {
      iow_set_errno_error (error, IOW_END_NONE, errno, "growing the pipe of descriptor %d", fd);
      return 0;
    }
  for (int want = pipe_max_size_bytes (); want > size; want /= 2)
    {
      if (fcntl (fd, F_SETPIPE_SZ, want) >= 0)
        break;
      /* EPERM: beyond the limit, or the user's quota of pipe pages is used up;
       * EBUSY: it holds more than would fit.  Half as much may still do. */
      if (errno != EPERM && errno != EBUSY && errno != ENOMEM)
        break;
    }
  /* The kernel rounds up to a power of two of pages. */
  size = fcntl (fd, F_GETPIPE_SZ);
  return size < 0 ? 0 : (gsize) size;
}

gboolean
iow_pipe_open (int *ret_read_fd, int *ret_write_fd, gsize *ret_size_bytes, GError **error)
{
  int ends[2];
  gsize size;

  g_return_val_if_fail (ret_read_fd != NULL, FALSE);
  g_return_val_if_fail (ret_write_fd != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (pipe2 (ends, O_CLOEXEC) < 0)
    {
      iow_set_errno_error (error, IOW_END_HELPER, errno, "making a pipe");
      return FALSE;
    }
  if (!iow_fd_lift (&ends[0], error) || !iow_fd_lift (&ends[1], error)
      || (size = iow_pipe_grow (ends[1], error)) == 0)
    {
      iow_fd_clear (&ends[0]);
      iow_fd_clear (&ends[1]);
      return FALSE;
    }
  *ret_read_fd = ends[0];
  *ret_write_fd = ends[1];
  if (ret_size_bytes)
    *ret_size_bytes = size;
  return TRUE;
}

static int
open_by_number (int fd, int flags)
{
  char name[32];

  snprintf (name, sizeof name, "/proc/self/fd/%d", fd);
  return open (name, flags | O_CLOEXEC);
}

int
iow_pipe_path_fd (int fd)
{
  int path_fd = open_by_number (fd, O_PATH);
  g_autoptr (GError) ignored = NULL;

  if (path_fd >= 0 && !iow_fd_lift (&path_fd, &ignored))
    iow_fd_clear (&path_fd);
  return path_fd;
}

/* tee(2) copies without taking, and tells an empty pipe (EAGAIN) from an ended
 * one (0); POLLHUP cannot, it is not raised for a reader that came after the
 * last writer left. */
IowPipeState
iow_pipe_probe (int path_fd)
{
  IowPipeState state = IOW_PIPE_UNKNOWN;
  int reader = -1, scratch[2];
  ssize_t n;

  if (path_fd < 0 || pipe2 (scratch, O_CLOEXEC) < 0)
    return IOW_PIPE_UNKNOWN;
  reader = open_by_number (path_fd, O_RDONLY | O_NONBLOCK);
  if (reader >= 0)
    {
      do
        n = tee (reader, scratch[1], 1, SPLICE_F_NONBLOCK);
      while (n < 0 && errno == EINTR);
      if (n >= 0)
        state = n > 0 ? IOW_PIPE_DATA : IOW_PIPE_ENDED;
      else if (errno == EAGAIN)
        state = IOW_PIPE_QUIET;
      iow_fd_clear (&reader);
    }
  iow_fd_clear (&scratch[0]);
  iow_fd_clear (&scratch[1]);
  return state;
}
