/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-relay.c - relays with the real helper: how they start and are refused,
 * their properties, restores, descriptors, misuse.
 */
#include <config.h>

#include "tests/g-common.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE ((gsize) 3 << 20 | 777)

static GError *error;
static guint8 *data;

/* ---- starting ------------------------------------------------------------------------------ */

static void
not_ready (void)
{
  g_autoptr (IowRelay) relay = g_object_new (IOW_TYPE_RELAY, "path", "/nowhere/x", NULL);

  ok (!iow_relay_commit (relay, -1, NULL, &error), "a relay that is not initialised cannot commit");
  is_error (&error, IOW_ERROR, IOW_ERROR_NOT_READY, "it is not ready");
  ok (!iow_relay_wait (relay, NULL, &error), "nor can it be waited for");
  is_error (&error, IOW_ERROR, IOW_ERROR_NOT_READY, "for the same reason");
  is_int (iow_relay_get_fd (relay), -1, "it has no descriptor");
  is_int (iow_relay_steal_fd (relay), -1, "and none to steal");
  iow_relay_cancel (relay);
  iow_relay_close (relay);
  is_int (criticals_taken (), 0, "and none of it is a critical warning");
}

static void
cannot_start (const char *what, IowDirection direction, const char *path, int code)
{
  g_autofree char *message = NULL;
  IowRelay *relay = relay_on (real_helper, direction, path, &error, NULL);

  ok (!relay, "%s cannot be started", what);
  message = g_strdup (error ? error->message : "");
  is_error (&error, IOW_ERROR, code, "the reason is told: %s", message);
  ok (strstr (message, path) != NULL || *path == '\0', "and names the file");
  g_clear_object (&relay);
}

static void
refusals (void)
{
  g_autofree char *path = old_file ("vm"), *missing = at ("none"), *deep = at ("none/vm");
  g_autofree char *dir = g_path_get_dirname (path);
  IowRelay *relay;

  cannot_start ("a save to a directory", IOW_DIRECTION_SAVE, dir, IOW_ERROR_INVALID);
  cannot_start ("a save into a missing directory", IOW_DIRECTION_SAVE, deep, IOW_ERROR_INVALID);
  cannot_start ("a restore from a missing file", IOW_DIRECTION_RESTORE, missing, IOW_ERROR_INVALID);
  cannot_start ("a save to no name", IOW_DIRECTION_SAVE, "", IOW_ERROR_INVALID);

  relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, &error, "no-clobber", TRUE, NULL);
  ok (!relay && is_old (path), "a save that must not replace anything does not");
  is_error (&error, IOW_ERROR, IOW_ERROR_EXISTS, "and says that the file exists");
  relay = relay_on (real_helper, IOW_DIRECTION_RESTORE, path, &error, "in-place", TRUE, NULL);
  ok (!relay, "a restore takes no property of a save");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "that is an invalid request");
  relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, &error, "buffer-size",
                    G_GUINT64_CONSTANT (1), NULL);
  ok (!relay, "a size that the helper does not take is refused");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "as an invalid request, too");
  relay = g_initable_new (IOW_TYPE_RELAY, NULL, &error, "helper-path", real_helper, NULL);
  ok (!relay, "a relay without a file is refused");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "like it");
  ok (eventually (no_children, NULL), "no helper is left of all that");
  (void) unlink (path);
}

/* ---- properties --------------------------------------------------------------------------- */

static void
full_device (void)
{
  g_autoptr (IowRelay) relay = save_to ("/dev/full");
  IowEnd end;
  gint64 offset;
  int number;

  feed (relay, data, 10);
  ok (!iow_relay_commit (relay, -1, NULL, &error), "a save to a full device fails");
  diag ("%s", error ? error->message : "");
  is_error (&error, IOW_ERROR, IOW_ERROR_NO_SPACE, "for want of space");
  g_object_get (relay, "error-errno", &number, "error-end", &end, "error-offset", &offset, NULL);
  is_int (number, ENOSPC, "the errno is a property");
  is_int (end, IOW_END_DESTINATION, "so is the end that failed");
  is_int (offset, 0, "so is the offset");
}

static void
save_properties (void)
{
  g_autofree char *path = old_file ("vm");
  g_autoptr (IowRelay) relay = NULL;
  struct stat before, after;

  (void) stat (path, &before);
  relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, &error, "mode", 0640, "cache",
                    IOW_CACHE_MODE_KEEP, "sync", IOW_SYNC_MODE_NONE, "nonblock", TRUE,
                    "buffer-size", G_GUINT64_CONSTANT (65536), "expect-length",
                    G_GINT64_CONSTANT (4), NULL);
  if (!relay)
    bail_out ("%s", error->message);
  ok (fcntl (iow_relay_get_fd (relay), F_GETFL) & O_NONBLOCK, "nonblock makes the descriptor so");
  feed (relay, data, 4);
  ok (iow_relay_commit (relay, -1, NULL, &error), "a save with many properties works");
  g_clear_error (&error);
  (void) stat (path, &after);
  is_int (after.st_mode & 07777, 0640, "its mode is the one given");
  ok (after.st_ino != before.st_ino, "it is a new file");
  g_clear_object (&relay);

  relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, &error, "in-place", TRUE, "offset",
                    G_GINT64_CONSTANT (2), NULL);
  if (!relay)
    bail_out ("%s", error->message);
  feed (relay, data, 1);
  ok (iow_relay_commit (relay, 1, NULL, &error), "a save in place works");
  g_clear_error (&error);
  (void) stat (path, &before);
  ok (before.st_ino == after.st_ino && before.st_size == 4, "in the same file, of the same length");
  (void) unlink (path);
}

static void
odd_names (void)
{
  g_autofree char *path = at ("-"), *dir = g_path_get_dirname (path);
  g_autofree char *here = g_get_current_dir (), *raw = at ("caf\xe9");
  g_autoptr (IowRelay) relay = NULL;

  (void) !chdir (dir);
  relay = save_to ("-");
  feed (relay, data, 9);
  ok (iow_relay_commit (relay, 9, NULL, &error) && file_is (path, data, 9),
      "a file named '-' is a file like any other");
  g_clear_object (&relay);
  relay = save_to (raw);
  feed (relay, data, 9);
  ok (iow_relay_commit (relay, 9, NULL, &error) && file_is (raw, data, 9),
      "so is one whose name is not UTF-8");
  g_clear_error (&error);
  (void) !chdir (here);
  (void) unlink (path);
  (void) unlink (raw);
}

static void
stolen (void)
{
  g_autofree char *path = at ("vm");
  g_autoptr (IowRelay) relay = save_to (path);
  int fd = iow_relay_steal_fd (relay);

  ok (fd >= 0 && iow_relay_get_fd (relay) == -1 && iow_relay_steal_fd (relay) == -1,
      "a descriptor can be stolen once");
  (void) !write (fd, "mine", 4);
  close (fd);
  ok (iow_relay_commit (relay, 4, NULL, &error) && file_is (path, "mine", 4),
      "and closed by who has stolen it");
  g_clear_error (&error);
  (void) unlink (path);
}

/* ---- restores and descriptors ------------------------------------------------------ */

static void
restores (void)
{
  g_autofree char *path = at ("vm");
  g_autofree guint8 *got = g_malloc (SIZE + 1);
  g_autoptr (IowRelay) relay = NULL;
  gsize moved;
  int fd;

  put_file (path, data, SIZE);
  relay = relay_on (real_helper, IOW_DIRECTION_RESTORE, path, &error, NULL);
  if (!relay)
    bail_out ("%s", error->message);
  ok (!iow_relay_commit (relay, -1, NULL, &error), "a restore cannot be committed");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "that is an invalid request");
  fd = iow_relay_steal_fd (relay);
  ok (iow_fd_read_full (fd, got, SIZE + 1, &moved, NULL, &error) && moved == SIZE
        && memcmp (got, data, SIZE) == 0,
      "a restore gives all bytes and then end of file");
  ok (iow_relay_wait (relay, NULL, &error), "waiting for it says so");
  g_clear_error (&error);
  is_int (iow_relay_get_outcome (relay), IOW_OUTCOME_DELIVERED, "its outcome is delivered");
  is_int ((intmax_t) iow_relay_get_bytes_transferred (relay), (intmax_t) SIZE, "its bytes are all");
  close (fd);
  g_clear_object (&relay);

  relay = relay_on (real_helper, IOW_DIRECTION_RESTORE, path, &error, NULL);
  fd = iow_relay_steal_fd (relay);
  (void) iow_fd_read_full (fd, got, 1000, &moved, NULL, NULL);
  close (fd);
  ok (!iow_relay_wait (relay, NULL, &error), "a restore whose consumer leaves early has failed");
  is_error (&error, IOW_ERROR, IOW_ERROR_CONSUMER_CLOSED, "and says who left");
  g_clear_object (&relay);

  relay = relay_on (real_helper, IOW_DIRECTION_RESTORE, path, &error, NULL);
  ok (!iow_relay_wait (relay, NULL, &error),
      "a restore that nobody took the descriptor of does not wait for ever");
  is_error (&error, IOW_ERROR, IOW_ERROR_CONSUMER_CLOSED, "but says that nobody reads");
  (void) unlink (path);
}

static void
descriptors (void)
{
  g_autofree char *path = at ("vm");
  g_autofree guint8 *got = g_malloc (SIZE);
  g_autoptr (IowRelay) relay = NULL;
  int fd = open (path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), saved, stream;
  gsize moved;

  g_setenv ("IOWRAP_HELPER", real_helper, TRUE);
  relay = iow_relay_new_for_fd (fd, IOW_DIRECTION_SAVE, NULL, &error);
  if (!relay)
    bail_out ("%s", error->message);
  ok (fcntl (fd, F_GETFD) & FD_CLOEXEC, "the caller's descriptor stays open, and as it was");
  feed (relay, data, SIZE);
  ok (iow_relay_commit (relay, SIZE, NULL, &error) && file_is (path, data, SIZE),
      "a save to a descriptor writes the whole stream to its file");
  g_clear_object (&relay);

  saved = dup (0);
  (void) lseek (fd, 0, SEEK_SET);
  dup2 (fd, 0);
  relay = iow_relay_new_for_fd (0, IOW_DIRECTION_RESTORE, NULL, &error);
  dup2 (saved, 0);
  close (saved);
  close (fd);
  if (!relay)
    bail_out ("%s", error->message);
  stream = iow_relay_steal_fd (relay);
  ok (iow_fd_read_full (stream, got, SIZE, &moved, NULL, &error) && moved == SIZE
        && memcmp (got, data, SIZE) == 0 && iow_relay_wait (relay, NULL, &error),
      "a restore from descriptor 0 works, and the caller may close it at once");
  close (stream);
  g_clear_object (&relay);

  ok (!(relay = iow_relay_new_for_fd (1000, IOW_DIRECTION_SAVE, NULL, &error)),
      "a descriptor that is not open is refused");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "as an invalid request");
  relay = relay_on (real_helper, IOW_DIRECTION_SAVE, path, &error, "fd", 1, "in-place", TRUE, NULL);
  ok (!relay, "in-place is refused for a descriptor");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "as an invalid request, too");
  g_unsetenv ("IOWRAP_HELPER");
  (void) unlink (path);
}

static void
misuse (void)
{
  ok (!iow_relay_new_for_path (NULL, IOW_DIRECTION_SAVE, NULL, NULL)
        && !iow_relay_commit (NULL, -1, NULL, NULL) && !iow_relay_wait (NULL, NULL, NULL)
        && iow_relay_get_fd (NULL) == -1 && iow_relay_steal_fd (NULL) == -1
        && !iow_relay_dup_record (NULL) && !iow_relay_dup_evidence (NULL)
        && !iow_relay_dup_cache_used (NULL) && iow_relay_get_pipe_size (NULL) == 0
        && iow_relay_get_bytes_transferred (NULL) == 0 && iow_relay_get_error_errno (NULL) == 0
        && iow_relay_get_error_offset (NULL) == -1
        && iow_relay_get_error_end (NULL) == IOW_END_NONE
        && iow_relay_get_outcome (NULL) == IOW_OUTCOME_UNDECIDED,
      "every function survives NULL for its relay");
  iow_relay_cancel (NULL);
  iow_relay_close (NULL);
  iow_relay_set_wait_timeout_ms (NULL, 1);
  is_int (criticals_taken (), 17, "and each says so");
}

int
main (void)
{
  g_common_start ();
  data = pattern (SIZE, 42);
  not_ready ();
  refusals ();
  full_device ();
  save_properties ();
  odd_names ();
  stolen ();
  restores ();
  descriptors ();
  misuse ();
  g_free (data);
  return done_testing ();
}
