/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * command.c - starts COMMAND; see command.h.
 */
#include <config.h>

#include "iohelper/command.h"

#include "iohelper/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

int
ioh_command_status (int wait_status)
{
  return WIFSIGNALED (wait_status) ? 128 + WTERMSIG (wait_status) : WEXITSTATUS (wait_status);
}

static _Noreturn void
become_command (const struct ioh_job *job, const int data[2], int error_fd)
{
  bool save = job->direction == IOH_SAVE;
  int err;

  ioh_launch_undo_settings ();
  if (dup2 (data[save ? 1 : 0], save ? STDOUT_FILENO : STDIN_FILENO) >= 0)
    execvp (job->command[0], job->command);
  err = errno;
  (void) !write (error_fd, &err, sizeof err);
  _exit (127);
}

/* The errno of a failed exec arrives on a pipe that a good one closes. */
static int
exec_error (int fd)
{
  int err = 0;
  ssize_t n;

  do
    n = read (fd, &err, sizeof err);
  while (n < 0 && errno == EINTR);
  return n == (ssize_t) sizeof err ? err : 0;
}

pid_t
ioh_command_start (const struct ioh_job *job, struct ioh_failure *failure)
{
  bool save = job->direction == IOH_SAVE;
  enum ioh_end end = save ? IOH_END_SOURCE : IOH_END_DESTINATION;
  int data[2], error[2], err;
  pid_t pid = -1;

  if (pipe2 (data, O_CLOEXEC) < 0)
    err = errno;
  else if (pipe2 (error, O_CLOEXEC) < 0)
    {
      err = errno;
      close (data[0]);
      close (data[1]);
    }
  else
    {
      pid = fork ();
      if (pid == 0)
        become_command (job, data, error[1]);
      err = pid < 0 ? errno : 0;
      close (error[1]);
      if (pid > 0)
        err = exec_error (error[0]);
      close (error[0]);
      if (err == 0 && dup2 (data[save ? 0 : 1], save ? STDIN_FILENO : STDOUT_FILENO) < 0)
        err = errno;
      close (data[0]);
      close (data[1]);
    }
  if (err == 0)
    return pid;
  if (pid > 0)
    while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
      ;
  ioh_failure_opening (failure, end, "running", job->command[0], err, NULL);
  return -1;
}
