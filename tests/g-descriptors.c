/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-descriptors.c - what the library opens: whose it is, who inherits it, and
 * that it is closed again.
 */
#include <config.h>

#include "tests/g-common.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static GError *error;

static void
child_sees (gboolean with_fd, const char *want)
{
  g_autofree char *path = at ("fds"), *got = NULL;
  int loose = open ("/dev/null", O_RDONLY), file = with_fd ? open ("/dev/null", O_RDWR) : -1;
  g_autoptr (IowRelay) other = NULL, relay = NULL;

  other = relay_on (fake_helper, IOW_DIRECTION_SAVE, "plain", &error, NULL);
  relay = relay_on (fake_helper, IOW_DIRECTION_SAVE, path, &error, "fd", file, NULL);
  if (!relay || !other)
    bail_out ("%s", error->message);
  (void) g_file_get_contents (path, &got, NULL, NULL);
  is_str (got, want, "a helper%s has its descriptors, and none of another relay's or the process's",
          with_fd ? " for an open file" : "");
  close (loose);
  if (file >= 0)
    close (file);
  (void) unlink (path);
}

static int fds_at_start;

static gboolean
fds_as_at_start (gpointer unused)
{
  (void) unused;
  return open_fds () == fds_at_start;
}

/* For programs that start others by themselves. */
static void
all_close_on_exec (void)
{
  g_autofree char *path = at ("plain");
  g_autoptr (GArray) before = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (IowRelay) relay = NULL;
  int n = 0, bad = 0;

  (void) eventually (fds_as_at_start, NULL);
  for (int fd = 0; fd < 1024; fd++)
    if (fcntl (fd, F_GETFD) < 0)
      g_array_append_val (before, fd);
  relay = relay_on (fake_helper, IOW_DIRECTION_SAVE, path, &error, NULL);
  for (guint i = 0; i < before->len; i++)
    {
      int flags = fcntl (g_array_index (before, int, i), F_GETFD);

      n += flags >= 0;
      bad += flags >= 0 && !(flags & FD_CLOEXEC);
    }
  ok (n > 3 && bad == 0, "every descriptor that a relay holds in this process is close-on-exec");
}

static void
nothing_leaks (void)
{
  g_autofree char *path = at ("plain"), *vm = at ("vm"), *dies = at ("dies");
  int bad = 0, cycles = under_valgrind () ? 100 : 1000;

  for (int i = 0; i < cycles; i++)
    {
      bad += !whole_save (fake_helper, path, 10, &error);
      if (i % 10 == 0)
        {
          (void) !whole_save (fake_helper, dies, 10, &error);
          g_clear_error (&error);
          (void) !whole_save ("/nonexistent", path, 10, &error);
          g_clear_error (&error);
        }
    }
  for (int i = 0; i < cycles / 50; i++)
    bad += !whole_save (real_helper, vm, 5000, &error);
  is_int (bad, 0, "%d saves in a row work", cycles + cycles / 50);
  ok (eventually (no_children, NULL), "they leave no process, dead or alive");
  if (!ok (eventually (fds_as_at_start, NULL), "and no descriptor"))
    diag ("%d open instead of %d", open_fds (), fds_at_start);
  (void) unlink (vm);
}

static gboolean
standard_fds_closed (void)
{
  return fcntl (0, F_GETFD) < 0 && fcntl (1, F_GETFD) < 0 && fcntl (2, F_GETFD) < 0;
}

static int
without_standard_fds (void)
{
  g_autofree char *vm = at ("vm"), *fds = at ("fds"), *list = NULL;
  g_autoptr (IowRelay) relay = NULL;

  close (0);
  close (1);
  close (2);
  if (!whole_save (real_helper, vm, 70000, &error))
    return 1;
  (void) unlink (vm);
  relay = relay_on (fake_helper, IOW_DIRECTION_SAVE, fds, &error, NULL);
  if (!relay || !standard_fds_closed ())
    return 2;
  if (!g_file_get_contents (fds, &list, NULL, NULL) || strcmp (list, "0 1 2 3 ") != 0)
    return 3;
  (void) unlink (fds);
  if (whole_save ("/nonexistent/helper", vm, 1, &error)
      || !strstr (error->message, "No such file"))
    return 4;
  return 0;
}

static void
closed_standard_fds (void)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    _exit (without_standard_fds ());
  (void) waitpid (pid, &status, 0);
  is_int (WIFEXITED (status) ? WEXITSTATUS (status) : -1, 0,
          "where 0, 1 and 2 are closed, no descriptor of ours takes their place, the helper gets "
          "its own, and a missing helper is reported");
}

int
main (void)
{
  g_common_start ();
  fds_at_start = open_fds ();
  closed_standard_fds (); /* forks and goes on: that wants a process of one thread */
  child_sees (FALSE, "0 1 2 3 ");
  child_sees (TRUE, "0 1 2 3 4 ");
  all_close_on_exec ();
  nothing_leaks ();
  return done_testing ();
}
