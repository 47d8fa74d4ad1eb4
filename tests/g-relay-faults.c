/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-relay-faults.c - relays whose helper misbehaves: is missing, dies, lies,
 * talks nonsense, or does not hear.
 */
#include <config.h>

#include "tests/g-common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static GError *error;

static IowRelay *
fake (IowDirection direction, const char *way)
{
  g_autofree char *path = at (way);

  return relay_on (fake_helper, direction, path, &error, "commit-grace-ms", 50u, NULL);
}

static IowRelay *
save (const char *way)
{
  IowRelay *relay = fake (IOW_DIRECTION_SAVE, way);

  if (!relay)
    bail_out ("%s: %s", way, error->message);
  return relay;
}

static void
gone (const char *what)
{
  ok (eventually (no_children, NULL), "%s leaves no process behind", what);
}

/* ---- before the relay runs ----------------------------------------------------------- */

static void
no_exec (const char *what, const char *helper, int code, const char *reason)
{
  g_autofree char *path = at ("vm");
  g_autofree char *line = g_strdup_printf (
    code == IOW_ERROR_INVALID ? "the helper '%s': %s" : "starting the helper '%s': %s", helper,
    reason);
  IowRelay *relay = relay_on (helper, IOW_DIRECTION_SAVE, path, &error, NULL);

  ok (!relay, "%s is reported at once", what);
  is_str (error ? error->message : NULL, line, "in a line that names it");
  is_error (&error, IOW_ERROR, code, "with the code for it");
  g_clear_object (&relay);
}

static void
no_helper (void)
{
  g_autofree char *plain_file = at ("not-executable"), *script = at ("script");

  put_file (plain_file, "x", 1);
  put_file (script, "#!/nonexistent/interpreter\n", 27);
  (void) chmod (script, 0755);
  no_exec ("a missing helper", "/nonexistent/iohelper", IOW_ERROR_HELPER,
           "No such file or directory");
  no_exec ("a helper that is not executable", plain_file, IOW_ERROR_HELPER, "Permission denied");
  no_exec ("a directory for a helper", "/usr", IOW_ERROR_HELPER, "Permission denied");
  /* valgrind dies of an exec that it cannot foresee to fail. */
  if (!under_valgrind ())
    no_exec ("a helper without its interpreter", script, IOW_ERROR_HELPER,
             "No such file or directory");
  no_exec ("a helper by a relative name", "iohelper", IOW_ERROR_INVALID,
           "give its name from the root on");

  g_setenv ("IOWRAP_HELPER", "/nonexistent/by-environment", TRUE);
  ok (!iow_relay_new_for_path (plain_file, IOW_DIRECTION_SAVE, NULL, &error)
        && strstr (error->message, "by-environment"),
      "the environment can name the helper");
  g_clear_error (&error);
  g_setenv ("IOWRAP_HELPER", fake_helper, TRUE);
  no_exec ("a property that names another", "/nonexistent/by-property", IOW_ERROR_HELPER,
           "No such file or directory");
  g_unsetenv ("IOWRAP_HELPER");
  gone ("none of them");
  (void) unlink (plain_file);
  (void) unlink (script);
}

static void
not_started (const char *way, int code, const char *words)
{
  IowRelay *relay = fake (IOW_DIRECTION_SAVE, way);

  ok (!relay, "a helper that %s before it is ready makes no relay", way);
  ok (error && strstr (error->message, words), "the reason is told: %s",
      error ? error->message : "");
  is_error (&error, IOW_ERROR, code, "with the code for it");
  g_clear_object (&relay);
  gone ("it");
}

/* The slowest test of the file: this helper hears no request, so it is killed
 * when it should have ended long ago. */
static void
never_ready (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autofree char *path = at ("silent");
  GThread *thread = g_thread_new ("cancel", cancel_later, cancellable);
  gint64 before = g_get_monotonic_time ();
  GObject *relay;

  relay = g_initable_new (IOW_TYPE_RELAY, cancellable, &error, "helper-path", fake_helper, "path",
                          path, NULL);
  g_thread_join (thread);
  ok (!relay && g_get_monotonic_time () - before < 5000000,
      "the wait for a helper that never answers can be cancelled");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "with GLib's error");
  ok (!g_initable_new (IOW_TYPE_RELAY, cancellable, &error, "helper-path", fake_helper, "path",
                       path, NULL),
      "a cancellable that is triggered already starts nothing");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "with the same error");
  gone ("a helper that hears nothing");
}

/* ---- while it runs ---------------------------------------------------------------------- */

static void
fails (const char *way, int code, IowOutcome outcome, const char *words, const char *what)
{
  g_autoptr (IowRelay) relay = save (way);
  g_autofree char *again = NULL;

  (void) !write (iow_relay_get_fd (relay), "12345", 5);
  ok (!iow_relay_commit (relay, 5, NULL, &error), "a helper that %s has not committed", what);
  ok (error && strstr (error->message, words), "the reason is told: %s",
      error ? error->message : "");
  again = g_strdup (error ? error->message : "");
  is_error (&error, IOW_ERROR, code, "with the code for it");
  is_int (iow_relay_get_outcome (relay), outcome, "and the outcome");
  ok (!iow_relay_wait (relay, NULL, &error) && strcmp (error->message, again) == 0,
      "which sticks");
  g_clear_error (&error);
  gone ("it");
}

static void
no_record (void)
{
  g_autoptr (IowRelay) relay = save ("ready-killed");

  ok (!iow_relay_commit (relay, -1, NULL, &error), "a helper that was killed leaves no record");
  g_clear_error (&error);
  ok (!iow_relay_dup_record (relay) && !iow_relay_dup_evidence (relay)
        && !iow_relay_dup_cache_used (relay),
      "so there is none to read");
  is_int (iow_relay_get_error_end (relay), IOW_END_HELPER, "the failure lies with the helper");
}

static void
bad_types (void)
{
  g_autoptr (IowRelay) relay = save ("wrong-types");

  ok (!iow_relay_commit (relay, -1, NULL, &error), "a record of wrong types is a failure");
  is_error (&error, IOW_ERROR, IOW_ERROR_DESTINATION, "of the kind that it names");
  ok (iow_relay_get_error_errno (relay) == 0 && iow_relay_get_error_offset (relay) == -1
        && iow_relay_get_error_end (relay) == IOW_END_NONE && !iow_relay_dup_evidence (relay)
        && iow_relay_get_bytes_transferred (relay) == 7,
      "what cannot be read is not known");
  is_int (criticals_taken (), 0, "and GLib has nothing to complain about");
}

static void
huge_sizes (void)
{
  g_autoptr (IowRelay) relay = save ("huge");

  ok (!iow_relay_commit (relay, -1, NULL, &error), "unknown events and keys are passed over");
  is_error (&error, IOW_ERROR, IOW_ERROR_SOURCE, "a source that failed is told apart");
  ok (iow_relay_get_bytes_transferred (relay) == (G_GUINT64_CONSTANT (1) << 41 | 3)
        && iow_relay_get_error_offset (relay) == (G_GINT64_CONSTANT (1) << 41 | 3),
      "sizes beyond 32 bits come through");
  is_int (iow_relay_get_error_errno (relay), EIO, "so does the errno");
}

static void
works (const char *way, const char *what)
{
  g_autoptr (IowRelay) relay = save (way);

  ok (iow_relay_commit (relay, -1, NULL, &error), "%s", what);
  g_clear_error (&error);
}

/* ---- slow ones ----------------------------------------------------------------------------- */

static void
deaf (void)
{
  char byte = 'x';
  g_autofree char *path = at ("deaf");
  IowRelay *relay
    = relay_on (fake_helper, IOW_DIRECTION_SAVE, path, &error, "nonblock", TRUE, NULL);
  gsize n = 0;
  gint64 before;

  while (write (iow_relay_get_fd (relay), &byte, 1) == 1)
    n++;
  ok (errno == EAGAIN && n > 0,
      "a non-blocking descriptor says EAGAIN while the helper takes nothing");
  before = g_get_monotonic_time ();
  iow_relay_cancel (relay);
  iow_relay_close (relay);
  g_object_unref (relay);
  ok (g_get_monotonic_time () - before < 100000,
      "cancel, close and the last reference do not wait for a helper that hears nothing");
}

struct call
{
  IowRelay *relay;
  gboolean good;
};

static gpointer
commit_main (gpointer data)
{
  struct call *call = data;

  call->good = iow_relay_commit (call->relay, 3, NULL, NULL);
  return NULL;
}

/* A commit that the helper has begun is let finish. */
static void
committing (void)
{
  g_autofree char *fifo = at ("slow");
  IowRelay *relay;
  struct call call;
  GThread *thread;
  int fd;

  (void) mkfifo (fifo, 0600);
  relay = relay_on (fake_helper, IOW_DIRECTION_SAVE, fifo, &error, "wait-timeout-ms", 300u, NULL);
  (void) !write (iow_relay_get_fd (relay), "abc", 3);
  ok (!iow_relay_commit (relay, 3, NULL, &error), "a commit that takes longer than the limit");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "stops waiting");
  ok (!iow_relay_commit (relay, 4, NULL, &error),
      "while the helper commits, another length comes too late");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "and is refused");
  iow_relay_set_wait_timeout_ms (relay, 0);
  call.relay = relay;
  thread = g_thread_new ("commit", commit_main, &call);
  fd = open (fifo, O_WRONLY | O_CLOEXEC);
  g_thread_join (thread);
  ok (call.good, "the same commit again gets the result");
  close (fd);
  g_object_unref (relay);
  gone ("it");
  (void) unlink (fifo);
}

static gboolean
is_at_it (gpointer fifo)
{
  /* ENXIO: no reader, not even one that waits in open(). */
  int fd = open (fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

/* So is one that has lost its socket: what it leaves must be the old or the new
 * file, and killing it could not make that any better known. */
static void
lost_while_committing (void)
{
  g_autofree char *fifo = at ("closes-committing");
  IowRelay *relay;

  (void) mkfifo (fifo, 0600);
  relay = relay_on (fake_helper, IOW_DIRECTION_SAVE, fifo, &error, NULL);
  ok (!iow_relay_commit (relay, -1, NULL, &error) && strstr (error->message, "still running")
        && strstr (error->message, "the old or the new one"),
      "a helper that closes its socket in its commit leaves the result open");
  is_error (&error, IOW_ERROR, IOW_ERROR_HELPER, "that is the helper's failure");
  ok (eventually (is_at_it, fifo), "but it is not killed");
  g_object_unref (relay);
  gone ("it");
  (void) unlink (fifo);
}

int
main (void)
{
  g_common_start ();
  signal (SIGPIPE, SIG_IGN); /* some helpers are gone before they are written to */
  no_helper ();
  not_started ("dies", IOW_ERROR_HELPER, "exit status 3");
  not_started ("refuses-argv", IOW_ERROR_INVALID, "does not take this request");
  not_started ("garbage", IOW_ERROR_HELPER, "does not understand");
  not_started ("endless", IOW_ERROR_HELPER, "a line of more than");
  not_started ("refuses-target", IOW_ERROR_NO_SPACE, "opening '/x': No space left on device");
  not_started ("delivers-at-once", IOW_ERROR_HELPER, "'delivered'");
  deaf ();
  never_ready ();
  fails ("ready-dies", IOW_ERROR_HELPER, IOW_OUTCOME_FAILED, "without a result: exit status 0",
         "ends without a result");
  fails ("ready-killed", IOW_ERROR_HELPER, IOW_OUTCOME_FAILED, "killed by signal 9", "is killed");
  fails ("closes", IOW_ERROR_HELPER, IOW_OUTCOME_FAILED, "killed by signal 9",
         "closes its socket and stays");
  if (!under_valgrind ()) /* which has no pidfd to tell it */
    fails ("leaves-socket", IOW_ERROR_HELPER, IOW_OUTCOME_FAILED, "without a result: exit status 4",
           "ends, while a process of its own keeps the socket,");
  fails ("killed-committing", IOW_ERROR_HELPER, IOW_OUTCOME_FAILED, "the old or the new one",
         "is killed in its commit");
  fails ("commits-unasked", IOW_ERROR_HELPER, IOW_OUTCOME_COMMITTED, "was not asked for",
         "says 'committed' unasked");
  fails ("commits-less", IOW_ERROR_HELPER, IOW_OUTCOME_COMMITTED, "was not asked for",
         "says 'committed' of another length");
  fails ("delivers-save", IOW_ERROR_HELPER, IOW_OUTCOME_DELIVERED, "was not asked for",
         "says 'delivered' of a save");
  fails ("unknown-outcome", IOW_ERROR_HELPER, IOW_OUTCOME_FAILED, "does not understand",
         "has an outcome that nobody knows");
  fails ("lingers", IOW_ERROR_DESTINATION, IOW_OUTCOME_FAILED, "",
         "reports a failure and then does not end");
  no_record ();
  bad_types ();
  huge_sizes ();
  works ("plain", "a helper that does as it should commits");
  works ("dribbles", "so does one that talks a byte at a time");
  committing ();
  lost_while_committing ();
  return done_testing ();
}
