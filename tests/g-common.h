/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-common.h - what the library's tests share: a private directory, relays on
 * a helper of their choice, files to compare, and views of this process.
 */
#ifndef TESTS_G_COMMON_H
#define TESTS_G_COMMON_H

#include "libwrap/iowrap.h"

#include "tests/tap.h"

#include <signal.h>
#include <sys/types.h>

/* Makes the private directory, which is removed at exit, and lets a critical
 * warning of GLib be counted instead of printed.  NULL unless the test runs
 * under make: the real and the fake helper. */
void g_common_start (void);
extern const char *real_helper, *fake_helper;

/* Criticals since the last call. */
int criticals_taken (void);

/* DIR/NAME. (transfer full) */
char *at (const char *name);

/* A relay by HELPER; then pairs of further properties, and NULL. */
#define relay_on(helper, direction_, path_, error, ...)                                            \
  ((IowRelay *) g_initable_new (IOW_TYPE_RELAY, NULL, error, "helper-path", helper, "direction",   \
                                direction_, "path", path_, __VA_ARGS__))

/* A whole save of N bytes with HELPER; the real one's file is compared. */
gboolean whole_save (const char *helper, const char *path, gsize n, GError **error);

/* N bytes that depend on their offset and on SEED. (transfer full) */
guint8 *pattern (gsize n, guint seed);

void put_file (const char *path, const void *data, gsize n);
gboolean file_is (const char *path, const void *data, gsize n);

/* What was in a file before a save. */
#define OLD "the old content"

/* A file NAME of the private directory with OLD in it; its path. (transfer full) */
char *old_file (const char *name);
gboolean is_old (const char *path);

/* A relay that saves to PATH with the real helper; ends the test without one. */
IowRelay *save_to (const char *path);

/* Writes N bytes of DATA to RELAY's pipe; ends the test where that fails. */
void feed (IowRelay *relay, const guint8 *data, gsize n);

/* A thread's function: cancels the GCancellable that it is given, a little later. */
gpointer cancel_later (gpointer cancellable);

/* How many entries DIR has. */
int entries_in (const char *dir);

/* The open descriptors of this process. */
int open_fds (void);

/* Waits until COND (DATA) holds, 20 s at most. */
gboolean eventually (gboolean (*cond) (gpointer data), gpointer data);

/* Under valgrind a few things cannot be done, and many take long. */
gboolean under_valgrind (void);

/* For eventually(): this process has no child left, not even a dead one. */
gboolean no_children (gpointer unused);

/* The children of process PID; at most MAX, returns how many. */
int children_of (pid_t pid, pid_t *list, int max);

/* sigset_t has more bytes than signals; what is in the rest means nothing. */
gboolean same_mask (const sigset_t *a, const sigset_t *b);

/* Checks the error's domain and code, then clears it. */
gboolean is_error (GError **error, GQuark domain, int code, const char *format, ...)
  G_GNUC_PRINTF (4, 5);

#endif
