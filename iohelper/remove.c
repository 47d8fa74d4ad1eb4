/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * remove.c - a removal that may take for ever; see remove.h.
 */
#include <config.h>

#include "iohelper/remove.h"

#include "iohelper/clock.h"
#include "iohelper/launch.h"
#include "iohelper/tunables.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static bool
is_gone (int dir_fd, const char *name)
{
  return unlinkat (dir_fd, name, 0) == 0 || errno == ENOENT;
}

/* SIGCHLD is blocked.  False: CHILD has not ended by DEADLINE. */
static bool
wait_until (double deadline, pid_t child, const sigset_t *chld, int *wait_status)
{
  while (waitpid (child, wait_status, WNOHANG) == 0)
    {
      double left = deadline - ioh_now ();
      struct timespec ts = { .tv_nsec = (long) (left * 1e9) };

      if (left <= 0)
        return false;
      (void) sigtimedwait (chld, NULL, &ts);
    }
  return true;
}

_Static_assert (IOH_REMOVE_MS < 1000, "the wait is counted in nanoseconds only");

bool
ioh_remove (const struct ioh_job *job, int dir_fd, const char *name)
{
  double deadline = ioh_now () + IOH_REMOVE_MS / 1000.0;
  sigset_t chld, before;
  int status = -1; /* nobody has exited */
  bool ended;
  pid_t pid;

  sigemptyset (&chld);
  sigaddset (&chld, SIGCHLD);
  sigprocmask (SIG_BLOCK, &chld, &before);
  pid = fork ();
  if (pid == 0)
    {
      ioh_launch_let_go (job);
      _exit (is_gone (dir_fd, name) ? 0 : 1);
    }
  ended = pid > 0 && wait_until (deadline, pid, &chld, &status);
  if (pid > 0 && !ended)
    kill (pid, SIGKILL);
  sigprocmask (SIG_SETMASK, &before, NULL);
  if (pid < 0)
    return is_gone (dir_fd, name);
  return ended && WIFEXITED (status) && WEXITSTATUS (status) == 0;
}
