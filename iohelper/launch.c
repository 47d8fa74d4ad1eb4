/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * launch.c - processes, descriptors, signals; see launch.h.
 */
#include <config.h>

#include "iohelper/launch.h"

#include "iohelper/tunables.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* O_PATH takes a number and refuses all I/O: an error is better than the end
 * of file that /dev/null would give. */
static int
open_placeholder (void)
{
  return open ("/", O_PATH | O_CLOEXEC);
}

void
ioh_launch_guard_standard_fds (void)
{
  int fd;

  do
    fd = open_placeholder ();
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO)
    close (fd);
}

static rlim_t core_limit; /* what our parent gave us */

void
ioh_launch_undo_settings (void)
{
  static const int ours[] = { SIGPIPE, SIGXFSZ, IOH_NUDGE_SIGNAL };
  struct sigaction act = { .sa_handler = SIG_DFL };
  struct rlimit core;
  sigset_t none;

  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
    sigaction (ours[i], &act, NULL);
  if (getrlimit (RLIMIT_CORE, &core) == 0)
    {
      core.rlim_cur = core_limit;
      (void) setrlimit (RLIMIT_CORE, &core);
    }
}

void
ioh_launch_settings (void)
{
  struct sigaction act = { .sa_handler = SIG_DFL }, old;
  struct rlimit core;
  sigset_t none;

  for (int i = 1; i < NSIG; i++)
    if (i != SIGHUP || (sigaction (i, NULL, &old) == 0 && old.sa_handler != SIG_IGN))
      (void) sigaction (i, &act, NULL);
  act.sa_handler = SIG_IGN;
  sigaction (SIGPIPE, &act, NULL);
  sigaction (SIGXFSZ, &act, NULL);
  /* Until the worker handles it; by default it would kill. */
  sigaction (IOH_NUDGE_SIGNAL, &act, NULL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  if (getrlimit (RLIMIT_CORE, &core) == 0)
    {
      core_limit = core.rlim_cur;
      core.rlim_cur = 0;
      (void) setrlimit (RLIMIT_CORE, &core);
    }
#ifndef IOH_SANITIZED /* the leak checker attaches to the process */
  (void) prctl (PR_SET_DUMPABLE, 0);
#endif
}

struct ioh_shared *
ioh_launch_share (void)
{
  void *p = mmap (NULL, sizeof (struct ioh_shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  struct ioh_shared *shared = p;

  if (p == MAP_FAILED)
    return NULL;
  atomic_store (&shared->granted, IOH_CREDIT_WINDOW);
  return shared;
}

/* ---- who keeps what ------------------------------------------------------------- */

static bool
is_data (const struct ioh_job *job, int fd)
{
  bool save = job->direction == IOH_SAVE, passes = job->file_fd < 0 && ioh_job_handed (job);

  return fd == job->file_fd || fd == (save ? STDIN_FILENO : STDOUT_FILENO)
         || (passes && fd == (save ? STDOUT_FILENO : STDIN_FILENO));
}

static void
replace (int fd, int placeholder)
{
  if (fd == placeholder || placeholder < 0)
    return;
  (void) dup3 (placeholder, fd, O_CLOEXEC);
}

static void
keep_for_controller (const struct ioh_job *job, int placeholder)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (is_data (job, fd))
      replace (fd, placeholder);
  if (job->file_fd > STDERR_FILENO)
    replace (job->file_fd, placeholder);
}

void
ioh_launch_drop_standard_fds (const struct ioh_job *job)
{
  int placeholder = open_placeholder ();

  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (!is_data (job, fd))
      replace (fd, placeholder);
  if (placeholder >= 0)
    close (placeholder);
}

static void
keep_for_worker (const struct ioh_job *job)
{
  const int others[] = { job->commit_fd, job->manager_fd, job->result_fd };

  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (others[i] > STDERR_FILENO)
      close (others[i]);
}

void
ioh_launch_let_go (const struct ioh_job *job)
{
  keep_for_worker (job);
  ioh_launch_drop_standard_fds (job);
}

pid_t
ioh_launch_worker (const struct ioh_job *job, struct ioh_shared *shared, int *sock)
{
  pid_t controller = getpid (), pid;
  int pair[2], err, placeholder = open_placeholder ();

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    {
      err = errno;
      close (placeholder);
      return -err;
    }
  pid = fork ();
  err = errno;
  if (pid == 0)
    {
      close (pair[0]);
      keep_for_worker (job);
      close (placeholder);
      ioh_worker_main (job, shared, pair[1], controller);
    }
  close (pair[1]);
  if (pid < 0)
    close (pair[0]);
  else
    {
      keep_for_controller (job, placeholder);
      *sock = pair[0];
    }
  close (placeholder);
  return pid < 0 ? -err : pid;
}
