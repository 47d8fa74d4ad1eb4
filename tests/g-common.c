/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-common.c - see g-common.h.
 */
#include <config.h>

#include "tests/g-common.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *real_helper, *fake_helper;

static char *dir;
static pid_t owner;
static gint criticals;

static void
on_log (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
  (void) data;
  if (level & G_LOG_LEVEL_CRITICAL)
    g_atomic_int_inc (&criticals);
  else if (level & G_LOG_LEVEL_WARNING)
    diag ("%s: %s", domain ? domain : "", message);
}

int
criticals_taken (void)
{
  int n = g_atomic_int_get (&criticals);

  g_atomic_int_set (&criticals, 0);
  return n;
}

static void
remove_dir (void)
{
  g_autoptr (GDir) list = NULL;
  const char *name;

  if (getpid () != owner || !(list = g_dir_open (dir, 0, NULL)))
    return;
  while ((name = g_dir_read_name (list)) != NULL)
    {
      g_autofree char *path = at (name);
      (void) remove (path);
    }
  (void) rmdir (dir);
  g_free (dir);
}

void
g_common_start (void)
{
  const char *base = g_getenv ("top_builddir");

  g_log_set_default_handler (on_log, NULL);
  real_helper = g_getenv ("IOHELPER");
  fake_helper = g_getenv ("FAKE_HELPER");
  owner = getpid ();
  dir = g_strdup_printf ("%s/g-XXXXXX", base ? base : g_get_tmp_dir ());
  if (!g_mkdtemp (dir))
    bail_out ("%s: %s", dir, g_strerror (errno));
  atexit (remove_dir);
}

char *
at (const char *name)
{
  return g_build_filename (dir, name, NULL);
}

guint8 *
pattern (gsize n, guint seed)
{
  guint8 *data = g_malloc (MAX (n, 1));

  for (gsize i = 0; i < n; i++)
    data[i] = (guint8) ((i * G_GUINT64_CONSTANT (2654435761) + seed) >> 13);
  return data;
}

void
put_file (const char *path, const void *data, gsize n)
{
  g_autoptr (GError) error = NULL;

  if (!g_file_set_contents (path, data, (gssize) n, &error))
    bail_out ("%s", error->message);
}

gboolean
file_is (const char *path, const void *data, gsize n)
{
  g_autofree char *got = NULL;
  gsize len;

  return g_file_get_contents (path, &got, &len, NULL) && len == n && memcmp (got, data, n) == 0;
}

gboolean
whole_save (const char *helper, const char *path, gsize n, GError **error)
{
  g_autofree guint8 *data = pattern (n, 5);
  g_autoptr (IowRelay) relay = NULL;
  gboolean good;

  relay = relay_on (helper, IOW_DIRECTION_SAVE, path, error, NULL);
  good = relay && iow_fd_write_all (iow_relay_get_fd (relay), data, n, NULL, NULL, error)
         && iow_relay_commit (relay, (gint64) n, NULL, error);
  if (good && helper == real_helper)
    good = file_is (path, data, n);
  return good;
}

int
entries_in (const char *path)
{
  DIR *list = opendir (path);
  int n = 0;

  while (list && readdir (list))
    n++;
  if (list)
    closedir (list);
  return n - 2;
}

int
open_fds (void)
{
  return entries_in ("/proc/self/fd");
}

gboolean
eventually (gboolean (*cond) (gpointer data), gpointer data)
{
  gint64 until = g_get_monotonic_time () + 20 * G_TIME_SPAN_SECOND;

  while (!cond (data))
    {
      if (g_get_monotonic_time () > until)
        return FALSE;
      g_usleep (2000);
    }
  return TRUE;
}

gboolean
under_valgrind (void)
{
  const char *preloaded = g_getenv ("LD_PRELOAD");

  return preloaded && strstr (preloaded, "vgpreload");
}

gboolean
no_children (gpointer unused)
{
  siginfo_t info;

  (void) unused;
  return waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static pid_t
parent_of (pid_t pid)
{
  g_autofree char *name = g_strdup_printf ("/proc/%d/stat", (int) pid);
  g_autofree char *text = NULL;
  const char *p;
  char state;
  int parent;

  if (!g_file_get_contents (name, &text, NULL, NULL) || !(p = strrchr (text, ')'))
      || sscanf (p + 1, " %c %d", &state, &parent) != 2)
    return -1;
  return parent;
}

int
children_of (pid_t pid, pid_t *list, int max)
{
  g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
  const char *name;
  int n = 0;

  while (proc && n < max && (name = g_dir_read_name (proc)) != NULL)
    {
      pid_t child = (pid_t) atoi (name);
      if (child > 0 && parent_of (child) == pid)
        list[n++] = child;
    }
  return n;
}

gboolean
same_mask (const sigset_t *a, const sigset_t *b)
{
  for (int i = 1; i < NSIG; i++)
    if (sigismember (a, i) != sigismember (b, i))
      return FALSE;
  return TRUE;
}

gboolean
is_error (GError **error, GQuark domain, int code, const char *format, ...)
{
  g_autofree char *sentence = NULL;
  gboolean right = *error && g_error_matches (*error, domain, code);
  va_list ap;

  va_start (ap, format);
  sentence = g_strdup_vprintf (format, ap);
  va_end (ap);
  ok (right, "%s", sentence);
  if (!right)
    diag ("got: %s %d, %s", *error ? g_quark_to_string ((*error)->domain) : "no error",
          *error ? (*error)->code : 0, *error ? (*error)->message : "");
  g_clear_error (error);
  return right;
}

char *
old_file (const char *name)
{
  char *path = at (name);

  put_file (path, OLD, strlen (OLD));
  return path;
}

gboolean
is_old (const char *path)
{
  return file_is (path, OLD, strlen (OLD));
}

IowRelay *
save_to (const char *path)
{
  g_autoptr (GError) error = NULL;
  IowRelay *relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, &error, NULL);

  if (!relay)
    bail_out ("%s", error->message);
  return relay;
}

void
feed (IowRelay *relay, const guint8 *data, gsize n)
{
  g_autoptr (GError) error = NULL;
  gsize moved;

  if (!iow_fd_write_all (iow_relay_get_fd (relay), data, n, &moved, NULL, &error))
    bail_out ("%s", error->message);
}

gpointer
cancel_later (gpointer cancellable)
{
  g_usleep (50000);
  g_cancellable_cancel (cancellable);
  return NULL;
}
