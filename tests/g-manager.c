/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-manager.c - the library in processes with habits of their own: signals
 * ignored or blocked, children reaped by others, no pidfds, many threads,
 * sudden death.
 */
#include <config.h>

#include "tests/g-common.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define OLD "the old content"

static GError *error;

static void
works (const char *what)
{
  g_autofree char *path = at ("vm");

  if (!ok (whole_save (real_helper, path, 200001, &error), "a save works %s", what))
    diag ("%s", error ? error->message : "");
  g_clear_error (&error);
  (void) unlink (path);
}

/* ---- signals ------------------------------------------------------------------------ */

static void
look_at_signals (struct sigaction *all, sigset_t *mask)
{
  for (int i = 1; i < NSIG; i++)
    {
      memset (&all[i], 0, sizeof all[i]);
      (void) sigaction (i, NULL, &all[i]);
    }
  (void) pthread_sigmask (SIG_SETMASK, NULL, mask);
}

static void
signals_untouched (void)
{
  static struct sigaction before[NSIG], after[NSIG];
  sigset_t mask_before, mask_after;
  gboolean same;

  look_at_signals (before, &mask_before);
  works ("and a failed one, in between two looks at every signal");
  (void) whole_save ("/nonexistent", "/nonexistent", 1, &error);
  g_clear_error (&error);
  look_at_signals (after, &mask_after);
  same = same_mask (&mask_before, &mask_after);
  for (int i = 1; i < NSIG; i++)
    same = same && before[i].sa_handler == after[i].sa_handler
           && before[i].sa_flags == after[i].sa_flags;
  ok (same, "no signal's disposition has changed, and no mask");
}

static gpointer
blocked_main (gpointer data)
{
  sigset_t all;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, NULL);
  works ("from a thread that blocks every signal");
  return data;
}

static gint stop_reaping;

static gpointer
reap_all (gpointer count)
{
  while (!g_atomic_int_get (&stop_reaping))
    if (waitpid (-1, NULL, WNOHANG) > 0)
      g_atomic_int_inc ((gint *) count);
    else
      g_usleep (100);
  return NULL;
}

static void
children_of_others (void)
{
  struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
  g_autofree char *path = at ("plain");
  gboolean good = TRUE;
  gint reaped = 0;
  GThread *thread;
  int tries;

  sigaction (SIGCHLD, &ignore, &old);
  works ("where SIGCHLD is ignored");
  ok (!whole_save ("/nonexistent/helper", "/nonexistent/vm", 1, &error),
      "a missing helper is reported where SIGCHLD is ignored");
  is_error (&error, IOW_ERROR, IOW_ERROR_HELPER, "with the same error as ever");
  sigaction (SIGCHLD, &old, NULL);

  /* As often as it takes for the other thread to be first. */
  thread = g_thread_new ("reap", reap_all, &reaped);
  for (tries = 0; tries < 2000 && good && g_atomic_int_get (&reaped) < 3; tries++)
    good = whole_save (fake_helper, path, 5000, &error);
  g_atomic_int_set (&stop_reaping, 1);
  g_thread_join (thread);
  if (!ok (good && reaped > 0, "saves work where another thread reaps every child that it finds"))
    diag ("reaped %d in %d saves; %s", reaped, tries, error ? error->message : "");
  g_clear_error (&error);
}

/* A filter as an old container has it: the kernel seems to know no pidfd. */
static gboolean
refuse_pidfd_open (void)
{
  struct sock_filter code[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { G_N_ELEMENTS (code), code };

  return prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
         && prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
         && syscall (SYS_pidfd_open, getpid (), 0) < 0;
}

static int
without_pidfd (void)
{
  g_autofree char *vm = at ("vm"), *dies = at ("dies"), *killed = at ("ready-killed");
  g_autofree char *closes = at ("closes");
  int status = 0;

  if (!refuse_pidfd_open ())
    return 1;
  if (!whole_save (real_helper, vm, 70000, &error))
    status = 2;
  else if (whole_save (fake_helper, dies, 1, &error)
           || !strstr (error->message, "exit status 3"))
    status = 3;
  g_clear_error (&error);
  if (status == 0
      && (whole_save (fake_helper, killed, 1, &error)
          || !strstr (error->message, "killed by signal 9")))
    status = 4;
  g_clear_error (&error);
  /* This one has to be killed. */
  if (status == 0
      && (whole_save (fake_helper, closes, 1, &error)
          || !strstr (error->message, "killed by signal 9")))
    status = 5;
  (void) unlink (vm);
  return status ? status : eventually (no_children, NULL) ? 0 : 6;
}

static void
no_pidfd (void)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    _exit (without_pidfd ());
  (void) waitpid (pid, &status, 0);
  is_int (WIFEXITED (status) ? WEXITSTATUS (status) : -1, 0,
          "where there is no pidfd, helpers are waited for, explained, killed and reaped all the "
          "same");
}

/* ---- many at once ------------------------------------------------------------------------ */

static gpointer
many_main (gpointer number)
{
  g_autofree char *name = g_strdup_printf ("vm-%d", GPOINTER_TO_INT (number));
  g_autofree char *path = at (name);
  g_autofree guint8 *data = pattern (300001, (guint) GPOINTER_TO_INT (number));
  g_autoptr (IowRelay) relay = NULL;
  gboolean good;

  relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, NULL, NULL);
  good = relay && iow_fd_write_all (iow_relay_get_fd (relay), data, 300001, NULL, NULL, NULL)
         && iow_relay_commit (relay, 300001, NULL, NULL) && file_is (path, data, 300001);
  (void) unlink (path);
  return GINT_TO_POINTER (good);
}

static void
many (void)
{
  GThread *threads[24];
  int n = under_valgrind () ? 4 : G_N_ELEMENTS (threads), good = 0;

  for (int i = 0; i < n; i++)
    threads[i] = g_thread_new ("many", many_main, GINT_TO_POINTER (i));
  for (int i = 0; i < n; i++)
    good += GPOINTER_TO_INT (g_thread_join (threads[i]));
  is_int (good, n, "as many threads save at once, each its own stream");
}

/* ---- sudden death --------------------------------------------------------------------------- */

/* In a process of its own: a whole stream, end of file seen, then death. */
static void
die_after_eof (const char *path)
{
  g_autoptr (IowRelay) relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, NULL, NULL);
  int fd;

  if (!relay)
    _exit (1);
  fd = iow_relay_steal_fd (relay);
  (void) !write (fd, "a whole new content", 19);
  close (fd);
  while (iow_relay_get_bytes_transferred (relay) != 19)
    g_usleep (1000);
  raise (SIGKILL);
}

static void
killed_manager (void)
{
  g_autofree char *path = at ("vm"), *dir = g_path_get_dirname (path);
  int ends[2], status, ready;
  struct pollfd p;
  char text[256];
  ssize_t n = -1;
  pid_t pid;

  put_file (path, OLD, strlen (OLD));
  if (pipe2 (ends, O_CLOEXEC) < 0)
    bail_out ("pipe2: %s", g_strerror (errno));
  pid = fork ();
  if (pid == 0)
    {
      /* The helper and its processes inherit it: its end of file is theirs. */
      dup2 (ends[1], STDERR_FILENO);
      close (ends[1]);
      die_after_eof (path);
    }
  close (ends[1]);
  (void) waitpid (pid, &status, 0);
  ok (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL,
      "a manager is killed after the end of its stream, before its commit");
  p = (struct pollfd) { .fd = ends[0], .events = POLLIN };
  while ((ready = poll (&p, 1, 20000)) == 1 && (n = read (ends[0], text, sizeof text)) > 0)
    diag ("it says: %.*s", (int) n, text);
  ok (ready == 1 && n == 0, "its helper ends by itself");
  ok (file_is (path, OLD, strlen (OLD)) && entries_in (dir) == 1,
      "the file keeps its old content, and nothing is beside it");
  close (ends[0]);
  (void) unlink (path);
}

static void
killed_producer (void)
{
  g_autofree char *path = at ("vm");
  g_autoptr (IowRelay) relay = NULL;
  int status;
  pid_t pid;

  put_file (path, OLD, strlen (OLD));
  relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, &error, NULL);
  pid = fork ();
  if (pid == 0)
    {
      (void) !write (iow_relay_get_fd (relay), "half of", 7);
      raise (SIGKILL);
    }
  (void) waitpid (pid, &status, 0);
  ok (!iow_relay_commit (relay, 20, NULL, &error),
      "a stream whose producer was killed is not what was agreed");
  is_error (&error, IOW_ERROR, IOW_ERROR_TRUNCATED, "but truncated");
  ok (file_is (path, OLD, strlen (OLD)), "and the file keeps its old content");
  (void) unlink (path);
}

int
main (void)
{
  g_common_start ();
  /* First those that fork and go on: that wants a process of one thread. */
  killed_manager ();
  no_pidfd ();
  signals_untouched ();
  g_thread_join (g_thread_new ("blocked", blocked_main, NULL));
  children_of_others ();
  killed_producer ();
  many ();
  return done_testing ();
}
