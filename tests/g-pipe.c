/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-pipe.c - pipes as large as the system lets them be.
 */
#include <config.h>

#include "tests/g-common.h"

#include "libwrap/iow-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static GError *error;

static gsize
system_limit (void)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents ("/proc/sys/fs/pipe-max-size", &text, NULL, NULL))
    return 1 << 20;
  return (gsize) strtoull (text, NULL, 10);
}

static void
opened (void)
{
  int r = -1, w = -1;
  gsize size = 0;

  if (!iow_pipe_open (&r, &w, &size, &error))
    bail_out ("%s", error->message);
  ok ((fcntl (r, F_GETFD) & FD_CLOEXEC) && (fcntl (w, F_GETFD) & FD_CLOEXEC),
      "both ends of a new pipe are close-on-exec");
  ok (!(fcntl (r, F_GETFL) & O_NONBLOCK) && !(fcntl (w, F_GETFL) & O_NONBLOCK),
      "and blocking");
  ok (size == (gsize) fcntl (r, F_GETPIPE_SZ) && size >= system_limit (),
      "it is as large as the system allows, %zu bytes, and that is what was said", size);
  ok (iow_pipe_grow (r, &error) == size, "growing it again keeps its size");
  close (r);
  close (w);
  ok (iow_pipe_open (&r, &w, NULL, &error), "the size need not be asked for");
  close (r);
  close (w);
}

static void
not_pipes (void)
{
  int fd = open ("/dev/null", O_WRONLY | O_CLOEXEC);

  ok (iow_pipe_grow (fd, &error) == 0, "what is no pipe cannot be grown");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "and the error says so");
  close (fd);
  ok (iow_pipe_grow (fd, &error) == 0, "nor can what is closed");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "with the same error");
}

/* A user without privileges has a quota of pipe pages for all his pipes:
 * /proc/sys/fs/pipe-user-pages-soft, 64 MiB. */
static int
as_nobody (void)
{
  gsize size = 0, least = G_MAXSIZE;
  gboolean halved = FALSE;
  int r, w, odd[2];

  /* One of the kernel's own size, so that the quota is no multiple of ours. */
  if (setgid (65534) < 0 || setuid (65534) < 0 || pipe2 (odd, O_CLOEXEC) < 0)
    return 2;
  for (int i = 0; i < 100; i++)
    {
      if (!iow_pipe_open (&r, &w, &size, &error) || size != (gsize) fcntl (r, F_GETPIPE_SZ))
        return 1;
      least = MIN (least, size);
      halved = halved || (size > 65536 && size < system_limit ());
    }
  return least >= system_limit () ? 3 : halved ? 0 : 4;
}

static void
quota (void)
{
  int status;
  pid_t pid;

  if (geteuid () != 0)
    {
      skip ("only root can become a user whose quota is unused", 1);
      return;
    }
  pid = fork ();
  if (pid == 0)
    _exit (as_nobody ());
  (void) waitpid (pid, &status, 0);
  is_int (WIFEXITED (status) ? WEXITSTATUS (status) : -1, 0,
          "a user whose quota of pipe pages runs out gets what is left of it, and is told that");
}

static void
closed_standard_fds (void)
{
  int status, r, w;
  pid_t pid = fork ();

  if (pid == 0)
    {
      close (0);
      close (1);
      close (2);
      _exit (iow_pipe_open (&r, &w, NULL, NULL) && r > 2 && w > 2 && fcntl (0, F_GETFD) < 0
                 && fcntl (1, F_GETFD) < 0 && fcntl (2, F_GETFD) < 0
               ? 0
               : 1);
    }
  (void) waitpid (pid, &status, 0);
  is_int (status, 0, "where 0, 1 and 2 are closed, a new pipe does not take their place");
}

static void
no_descriptors (void)
{
  struct rlimit old, none;
  int r = -7, w = -7;

  getrlimit (RLIMIT_NOFILE, &old);
  none = old;
  none.rlim_cur = (rlim_t) dup (0);
  close ((int) none.rlim_cur);
  setrlimit (RLIMIT_NOFILE, &none);
  ok (!iow_pipe_open (&r, &w, NULL, &error) && r == -7 && w == -7,
      "without a descriptor left, no pipe is made and no output set");
  setrlimit (RLIMIT_NOFILE, &old);
  is_error (&error, IOW_ERROR, IOW_ERROR_HELPER, "and there is an error");
}

static void
probed (void)
{
  int r, w, path;
  char byte;

  if (!iow_pipe_open (&r, &w, NULL, &error))
    bail_out ("%s", error->message);
  path = iow_pipe_path_fd (r);
  is_int (iow_pipe_probe (path), IOW_PIPE_QUIET, "an empty pipe with a writer is quiet");
  (void) !write (w, "x", 1);
  is_int (iow_pipe_probe (path), IOW_PIPE_DATA, "one with a byte in it has data");
  close (w);
  is_int (iow_pipe_probe (path), IOW_PIPE_DATA, "also when the writer has gone");
  ok (read (r, &byte, 1) == 1 && byte == 'x', "and looking has not taken the byte");
  is_int (iow_pipe_probe (path), IOW_PIPE_ENDED, "then it has ended");
  close (r);
  close (path);
  is_int (iow_pipe_probe (-1), IOW_PIPE_UNKNOWN, "nothing is known of no pipe");
}

int
main (void)
{
  g_common_start ();
  opened ();
  not_pipes ();
  quota ();
  closed_standard_fds ();
  no_descriptors ();
  probed ();
  return done_testing ();
}
