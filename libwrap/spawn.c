/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * spawn.c - starts the helper and reaps it; see spawn.h.
 *
 * A manager may ignore SIGCHLD or call waitpid(-1) in a loop, so the process
 * may be gone, and its number somebody else's, at any time: everything goes
 * through a pidfd, which cannot be mistaken, wherever there is one (Linux 5.4;
 * filters of older containers and valgrind refuse it).
 */
#include <config.h>

#include "libwrap/spawn.h"

#include "libwrap/iow-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The same numbers on every architecture; older C libraries lack them. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#define IOW_P_PIDFD 3 /* waitid(2), Linux 5.4 */

#define LOOK_AGAIN_MS 5

/* GLib gives the errno of a failed exec as a code of its own, and a message
 * that is not built like ours. */
static const char *
reason (const GError *error)
{
  static const struct
  {
    int code, err;
  } map[] = {
    { G_SPAWN_ERROR_ACCES, EACCES },
    { G_SPAWN_ERROR_PERM, EPERM },
    { G_SPAWN_ERROR_TOO_BIG, E2BIG },
    { G_SPAWN_ERROR_NOEXEC, ENOEXEC },
    { G_SPAWN_ERROR_NAMETOOLONG, ENAMETOOLONG },
    { G_SPAWN_ERROR_NOENT, ENOENT },
    { G_SPAWN_ERROR_NOMEM, ENOMEM },
    { G_SPAWN_ERROR_NOTDIR, ENOTDIR },
    { G_SPAWN_ERROR_LOOP, ELOOP },
    { G_SPAWN_ERROR_TXTBUSY, ETXTBSY },
    { G_SPAWN_ERROR_IO, EIO },
    { G_SPAWN_ERROR_NFILE, ENFILE },
    { G_SPAWN_ERROR_MFILE, EMFILE },
    { G_SPAWN_ERROR_INVAL, EINVAL },
    { G_SPAWN_ERROR_ISDIR, EISDIR },
    { G_SPAWN_ERROR_LIBBAD, ELIBBAD },
  };

  if (error->domain == G_SPAWN_ERROR)
    for (gsize i = 0; i < G_N_ELEMENTS (map); i++)
      if (map[i].code == error->code)
        return g_strerror (map[i].err);
  return error->message;
}

/* Where 0, 1 or 2 is closed, GLib's own pipe for the child's errno would take
 * its place and be overwritten by the child's standard descriptors: an exec
 * failure would go unnoticed.  Fills the gaps meanwhile; returns how many. */
static int
fill_gaps (int held[3])
{
  int n = 0;

  for (int fd = 0; fd <= STDERR_FILENO; fd++)
    if (fcntl (fd, F_GETFD) < 0 && (held[n] = open ("/dev/null", O_RDWR | O_CLOEXEC)) >= 0)
      n++;
  return n;
}

gboolean
iow_spawn (const char *const *argv, int stdin_fd, int stdout_fd, const int *source_fds,
           const int *target_fds, gsize n_fds, IowChild *ret_child, GError **error)
{
  GSpawnFlags flags = G_SPAWN_DO_NOT_REAP_CHILD;
  g_autoptr (GError) local = NULL;
  g_autoptr (GError) ignored = NULL;
  int held[3], n_held;
  gboolean started;
  GPid pid;

  if (stdout_fd < 0)
    flags |= G_SPAWN_STDOUT_TO_DEV_NULL;
  /* Without a standard error here, the child's first open file would become
   * its standard error. */
  if (fcntl (STDERR_FILENO, F_GETFD) < 0)
    flags |= G_SPAWN_STDERR_TO_DEV_NULL;
  n_held = fill_gaps (held);
  started = g_spawn_async_with_pipes_and_fds (NULL, argv, NULL, flags, NULL, NULL, stdin_fd,
                                              stdout_fd, -1, source_fds, target_fds, n_fds, &pid,
                                              NULL, NULL, NULL, &local);
  while (n_held > 0)
    iow_fd_clear (&held[--n_held]);
  if (!started)
    {
      g_set_error (error, IOW_ERROR, IOW_ERROR_HELPER, "starting the helper '%s': %s", argv[0],
                   reason (local));
      return FALSE;
    }
  ret_child->pid = pid;
  ret_child->known = FALSE;
  ret_child->status = 0;
  ret_child->pidfd = (int) syscall (SYS_pidfd_open, pid, 0);
  /* ESRCH: it has ended already, and somebody else has reaped it. */
  ret_child->gone = ret_child->pidfd < 0 && errno == ESRCH;
  if (ret_child->pidfd >= 0)
    (void) iow_fd_lift (&ret_child->pidfd, &ignored);
  return TRUE;
}

/* One look at the process, which reaps it if FLAGS do not have WNOWAIT.  With a
 * pidfd it is this process and no other; without one, its number is all there
 * is, which is right for as long as nobody else has reaped it. */
static void
look (IowChild *child, int flags)
{
  gboolean by_fd = child->pidfd >= 0;
  siginfo_t info;
  int r;

  memset (&info, 0, sizeof info);
  do
    r = waitid (by_fd ? (idtype_t) IOW_P_PIDFD : P_PID,
                by_fd ? (id_t) child->pidfd : (id_t) child->pid, &info, WEXITED | flags);
  while (r < 0 && errno == EINTR);
  if (r < 0)
    child->gone = TRUE; /* ECHILD: reaped by somebody else; the record decides anyway */
  else if (info.si_pid != 0 && !(flags & WNOWAIT))
    {
      child->gone = child->known = TRUE;
      child->status = info.si_code == CLD_EXITED ? W_EXITCODE (info.si_status, 0)
                                                 : W_EXITCODE (0, info.si_status);
    }
}

gboolean
iow_child_wait (IowChild *child, int timeout_ms)
{
  struct pollfd p = { .fd = child->pidfd, .events = POLLIN };
  gint64 until = g_get_monotonic_time () + (gint64) timeout_ms * 1000;

  if (!child->gone && timeout_ms < 0)
    look (child, 0);
  while (!child->gone)
    {
      int wait_ms = (int) (MAX (until - g_get_monotonic_time (), 0) / 1000);
      int r = child->pidfd >= 0 ? poll (&p, 1, wait_ms) : 0;

      look (child, WNOHANG);
      if (child->gone)
        break;
      if (wait_ms == 0)
        return FALSE;
      /* No event to wait for: no pidfd, or it is dead and a debugger keeps it. */
      if (child->pidfd < 0 || r > 0)
        (void) poll (NULL, 0, LOOK_AGAIN_MS);
    }
  return TRUE;
}

void
iow_child_kill (IowChild *child)
{
  if (!child->gone)
    look (child, WNOHANG | WNOWAIT);
  if (child->gone)
    return;
  if (child->pidfd >= 0)
    (void) syscall (SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
  else
    (void) kill (child->pid, SIGKILL);
}

char *
iow_child_describe (const IowChild *child)
{
  if (!child->known)
    return g_strdup (child->gone ? "status unknown" : "still running");
  if (WIFSIGNALED (child->status))
    return g_strdup_printf ("killed by signal %d", WTERMSIG (child->status));
  return g_strdup_printf ("exit status %d", WEXITSTATUS (child->status));
}

void
iow_child_clear (IowChild *child)
{
  iow_fd_clear (&child->pidfd);
}
