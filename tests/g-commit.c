/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-commit.c - saves with the real helper: what is committed, what never is,
 * and what a caller is told meanwhile.
 */
#include <config.h>

#include "tests/g-common.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SIZE ((gsize) 3 << 20 | 777)

static GError *error;
static guint8 *data;

/* Is PATH all that its directory has? */
static gboolean
is_alone (const char *path)
{
  g_autofree char *dir = g_path_get_dirname (path);

  return entries_in (dir) == 1;
}

/* ---- saves ------------------------------------------------------------------------- */

static void
commits (void)
{
  g_autofree char *path = old_file ("vm"), *record = NULL, *evidence = NULL, *cache = NULL;
  g_autoptr (IowRelay) relay = save_to (path);

  is_int (iow_relay_get_outcome (relay), IOW_OUTCOME_UNDECIDED, "a relay begins undecided");
  ok (fcntl (iow_relay_get_fd (relay), F_GETFD) & FD_CLOEXEC, "its descriptor is close-on-exec");
  ok (!(fcntl (iow_relay_get_fd (relay), F_GETFL) & O_NONBLOCK), "and blocking");
  is_int ((intmax_t) iow_relay_get_pipe_size (relay),
          fcntl (iow_relay_get_fd (relay), F_GETPIPE_SZ), "it says how large its pipe is");
  ok (!iow_relay_dup_record (relay), "there is no record before the end");
  feed (relay, data, SIZE);
  ok (is_old (path), "the file keeps its old content while the stream comes");
  ok (iow_relay_commit (relay, SIZE, NULL, &error) && file_is (path, data, SIZE),
      "a commit with the right length puts the whole stream in place");
  g_clear_error (&error);
  is_int (iow_relay_get_fd (relay), -1, "its descriptor is closed by then");
  is_int (iow_relay_get_outcome (relay), IOW_OUTCOME_COMMITTED, "its outcome is committed");
  is_int ((intmax_t) iow_relay_get_bytes_transferred (relay), (intmax_t) SIZE,
          "its bytes are the stream's");
  g_object_get (relay, "record", &record, "evidence", &evidence, "cache-used", &cache, NULL);
  is_str (evidence, "manager", "its evidence is the manager");
  ok (cache && *cache, "the cache mode used is named: %s", cache ? cache : "");
  ok (record && strstr (record, "\"outcome\":\"committed\"")
        && strstr (record, "\"mode\":\"library\""),
      "the record says the same");
  ok (iow_relay_commit (relay, 5, NULL, &error) && iow_relay_wait (relay, NULL, &error),
      "the result sticks, whatever is asked afterwards");
  iow_relay_cancel (relay);
  iow_relay_close (relay);
  is_int (iow_relay_get_outcome (relay), IOW_OUTCOME_COMMITTED, "not even a cancel changes it");
  ok (file_is (path, data, SIZE) && is_alone (path), "and nothing is left beside the file");
  (void) unlink (path);
}

static void
wrong_length (gint64 delta, int code, IowOutcome outcome, const char *what)
{
  g_autofree char *path = old_file ("vm"), *message = NULL;
  g_autoptr (IowRelay) relay = save_to (path);

  feed (relay, data, 100000);
  ok (!iow_relay_commit (relay, 100000 + delta, NULL, &error), "a stream that is %s fails", what);
  message = g_strdup (error ? error->message : "");
  is_error (&error, IOW_ERROR, code, "with the error for it: %s", message);
  is_int (iow_relay_get_outcome (relay), outcome, "and the outcome for it");
  ok (!iow_relay_commit (relay, 100000, NULL, &error),
      "asking again with the right length fails, too");
  is_str (error->message, message, "with the same words");
  is_error (&error, IOW_ERROR, code, "and the same code");
  ok (is_old (path) && is_alone (path), "the file keeps its old content, and nothing is beside it");
  (void) unlink (path);
}

/* Ways to leave without a commit, each after a whole stream has come. */
static void
never_commits (const char *what, void (*leave) (IowRelay *relay))
{
  g_autofree char *path = old_file ("vm");
  IowRelay *relay = save_to (path);

  feed (relay, data, SIZE);
  leave (relay);
  g_object_unref (relay);
  ok (eventually (no_children, NULL), "after %s, the helper ends and is reaped", what);
  ok (is_old (path) && is_alone (path), "and the file keeps its old content, alone");
  (void) unlink (path);
}

static void
by_unref (IowRelay *relay)
{
  (void) relay;
}

static gboolean
has_eof (gpointer relay)
{
  return iow_relay_get_bytes_transferred (relay) == SIZE;
}

static void
by_eof_only (IowRelay *relay)
{
  close (iow_relay_steal_fd (relay));
  ok (eventually (has_eof, relay), "the relay sees end of file and says how long the stream is");
}

static void
by_close (IowRelay *relay)
{
  iow_relay_close (relay);
  is_int (iow_relay_get_fd (relay), -1, "close takes the descriptor");
  iow_relay_close (relay);
  ok (!iow_relay_wait (relay, NULL, &error), "a closed relay has failed");
  is_error (&error, IOW_ERROR, IOW_ERROR_CANCELLED, "it was cancelled");
  is_int (iow_relay_get_outcome (relay), IOW_OUTCOME_CANCELLED, "so says its outcome");
  ok (!iow_relay_commit (relay, SIZE, NULL, &error), "and cannot be committed");
  is_error (&error, IOW_ERROR, IOW_ERROR_CANCELLED, "for the same reason");
}

static void
by_cancel (IowRelay *relay)
{
  gint64 before = g_get_monotonic_time ();

  close (iow_relay_steal_fd (relay));
  iow_relay_cancel (relay);
  ok (g_get_monotonic_time () - before < 50000, "cancel does not block");
  ok (!iow_relay_commit (relay, SIZE, NULL, &error), "a cancelled relay cannot be committed");
  is_error (&error, IOW_ERROR, IOW_ERROR_CANCELLED, "it was cancelled");
}

static void
by_dispose (IowRelay *relay)
{
  g_object_run_dispose (G_OBJECT (relay));
  ok (!iow_relay_commit (relay, -1, NULL, &error),
      "a relay that is disposed of cannot be committed");
  is_error (&error, IOW_ERROR, IOW_ERROR_NOT_READY, "it is not ready");
}

/* ---- writers that stay ---------------------------------------------------------------- */

static void
writer_open (void)
{
  g_autofree char *path = old_file ("vm");
  g_autoptr (IowRelay) relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, &error,
                                         "commit-grace-ms", 100u, NULL);
  int twin = fcntl (iow_relay_get_fd (relay), F_DUPFD_CLOEXEC, 3);

  feed (relay, data, SIZE);
  ok (!iow_relay_commit (relay, -1, NULL, &error),
      "a commit while somebody holds a write end fails");
  is_error (&error, IOW_ERROR, IOW_ERROR_WRITER_OPEN, "and says that a writer is open");
  is_int (iow_relay_get_outcome (relay), IOW_OUTCOME_UNDECIDED, "but nothing is decided");
  ok (is_old (path), "and nothing committed");
  (void) !write (twin, "tail", 4);
  close (twin);
  g_usleep (300000);
  ok (is_old (path) && iow_relay_get_outcome (relay) == IOW_OUTCOME_UNDECIDED,
      "when the writer closes, nothing happens by itself");
  ok (iow_relay_commit (relay, SIZE + 4, NULL, &error),
      "a second commit then takes the whole stream");
  g_clear_error (&error);
  (void) unlink (path);
}

static pid_t
stop_helper (void)
{
  pid_t pids[8], inner[8];
  int n = children_of (getpid (), pids, 8);

  if (n != 1)
    bail_out ("%d children instead of one helper", n);
  for (int i = children_of (pids[0], inner, 8) - 1; i >= 0; i--)
    (void) kill (inner[i], SIGSTOP);
  (void) kill (pids[0], SIGSTOP);
  return pids[0];
}

static void
continue_helper (pid_t pid)
{
  pid_t inner[8];

  for (int i = children_of (pid, inner, 8) - 1; i >= 0; i--)
    (void) kill (inner[i], SIGCONT);
  (void) kill (pid, SIGCONT);
}

static void
slow_storage (void)
{
  g_autofree char *path = old_file ("vm");
  g_autoptr (IowRelay) relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, &error,
                                         "commit-grace-ms", 50u, "wait-timeout-ms", 700u, NULL);
  pid_t helper = stop_helper ();

  feed (relay, data, 65536);
  ok (!iow_relay_commit (relay, -1, NULL, &error),
      "a commit that waits for storage ends with its time limit");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "which is not taken for an open writer");
  continue_helper (helper);
  ok (iow_relay_commit (relay, 65536, NULL, &error) && file_is (path, data, 65536),
      "and is not final: repeated, it commits");
  g_clear_error (&error);
  (void) unlink (path);
}

/* ---- waits that are given up ------------------------------------------------------------ */

static void
given_up (void)
{
  g_autofree char *path = old_file ("vm");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (IowRelay) relay = save_to (path);
  int twin = fcntl (iow_relay_get_fd (relay), F_DUPFD_CLOEXEC, 3);
  GThread *thread = g_thread_new ("cancel", cancel_later, cancellable);

  ok (!iow_relay_wait (relay, cancellable, &error),
      "a wait ends when its cancellable is triggered");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "with GLib's error");
  g_thread_join (thread);
  g_cancellable_reset (cancellable);
  thread = g_thread_new ("cancel", cancel_later, cancellable);
  ok (!iow_relay_commit (relay, 4, cancellable, &error), "so does a commit");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "with the same error");
  g_thread_join (thread);
  (void) !write (twin, "tail", 4);
  close (twin);
  g_usleep (200000);
  ok (is_old (path), "the request of a commit that was given up before end of file is withdrawn");
  iow_relay_set_wait_timeout_ms (relay, 30);
  ok (!iow_relay_wait (relay, NULL, &error), "a wait ends with its time limit");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "with GLib's error for that");
  iow_relay_set_wait_timeout_ms (relay, 0);
  is_int (iow_relay_get_outcome (relay), IOW_OUTCOME_UNDECIDED, "none of it is final");
  ok (iow_relay_commit (relay, 4, NULL, &error) && file_is (path, "tail", 4),
      "and the relay can still be committed");
  g_clear_error (&error);
  (void) unlink (path);
}

struct call
{
  IowRelay *relay;
  gboolean commit;
  gboolean good;
  GError *error;
};

static gpointer
call_main (gpointer data_)
{
  struct call *call = data_;

  call->good = call->commit ? iow_relay_commit (call->relay, -1, NULL, &call->error)
                            : iow_relay_wait (call->relay, NULL, &call->error);
  return NULL;
}

static void
two_at_once (gboolean commit)
{
  g_autofree char *path = old_file ("vm");
  g_autoptr (IowRelay) relay = save_to (path);
  int twin = fcntl (iow_relay_get_fd (relay), F_DUPFD_CLOEXEC, 3);
  struct call call = { relay, commit, FALSE, NULL };
  const char *what = commit ? "commit" : "wait";
  GThread *thread;
  gint64 before;

  g_object_set (relay, "commit-grace-ms", 20000u, NULL);
  thread = g_thread_new ("call", call_main, &call);
  g_usleep (100000);
  if (commit)
    ok (!iow_relay_commit (relay, -1, NULL, &error), "a second commit under way fails");
  else
    ok (!iow_relay_wait (relay, NULL, &error), "a second wait under way fails");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_PENDING, "with GLib's error for it");
  before = g_get_monotonic_time ();
  iow_relay_cancel (relay);
  g_thread_join (thread);
  ok (!call.good && g_get_monotonic_time () - before < 5000000,
      "a cancel from another thread ends the first %s", what);
  is_error (&call.error, IOW_ERROR, IOW_ERROR_CANCELLED, "as cancelled");
  close (twin);
  (void) unlink (path);
}

int
main (void)
{
  g_common_start ();
  data = pattern (SIZE, 42);
  commits ();
  wrong_length (1, IOW_ERROR_TRUNCATED, IOW_OUTCOME_TRUNCATED, "shorter than agreed");
  wrong_length (-1, IOW_ERROR_TOO_LONG, IOW_OUTCOME_TOO_LONG, "longer than agreed");
  never_commits ("dropping the last reference", by_unref);
  never_commits ("end of file and dropping the last reference", by_eof_only);
  never_commits ("close", by_close);
  never_commits ("cancel", by_cancel);
  never_commits ("dispose", by_dispose);
  writer_open ();
  slow_storage ();
  given_up ();
  two_at_once (TRUE);
  two_at_once (FALSE);
  g_free (data);
  return done_testing ();
}
