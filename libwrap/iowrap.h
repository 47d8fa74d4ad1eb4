/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iowrap.h - move VM state between a hypervisor's pipe and storage.
 *
 * The whole public interface of libiowrap.  An IowRelay makes the pipe, starts
 * the helper behind it, and hands out one descriptor for the hypervisor and one
 * object to wait on.  Sizes and offsets are bytes, 64 bits wide everywhere;
 * times are milliseconds.
 *
 * Invariant: a save replaces its file only through iow_relay_commit().
 */
#ifndef IOWRAP_H
#define IOWRAP_H

#include <gio/gio.h>

G_BEGIN_DECLS

/* What the library exports; everything else in it is hidden. */
#if defined(__GNUC__)
#define IOW_API __attribute__ ((visibility ("default"))) extern
#else
#define IOW_API extern
#endif

/**
 * SECTION:iowrap
 * @title: libiowrap
 * @short_description: save and restore VM state through a pipe
 *
 * A save, on every path out of which the file is either the old or the whole
 * new one:
 *
 * |[<!-- language="C" -->
 *   g_autoptr (IowRelay) relay
 *       = iow_relay_new_for_path ("/x/vm.sav", IOW_DIRECTION_SAVE, NULL, &error);
 *   if (!relay)
 *     return FALSE;
 *   if (!tell_hypervisor_to_write_to (iow_relay_get_fd (relay), &error))
 *     return FALSE;
 *   return iow_relay_commit (relay, -1, NULL, &error);
 * ]|
 *
 * Threads: every function may be called from any thread, and several threads
 * may use one relay at once.  Nothing here changes a signal's disposition,
 * installs a child watch, needs a main loop, prints, or exits.  The process may
 * ignore SIGCHLD or reap every child that it finds.
 *
 * A process that forks without an exec takes copies of a relay's private socket
 * along, which are close-on-exec: until it execs or ends, the helper cannot
 * notice that the process that made the relay has died.
 *
 * Errors: %G_IO_ERROR is used for %G_IO_ERROR_CANCELLED, %G_IO_ERROR_TIMED_OUT
 * and %G_IO_ERROR_PENDING, all of which leave the relay as it was; everything
 * else is an #IowError.
 */

/* ---- enumerations ------------------------------------------------------------ */

/**
 * IOW_ERROR:
 *
 * The domain of #IowError.
 *
 * Since: 1.0
 */
#define IOW_ERROR (iow_error_quark ())

/**
 * IowError:
 * @IOW_ERROR_NOT_READY: the relay is not initialised, could not be, or is
 *     disposed of
 * @IOW_ERROR_INVALID: the request cannot be carried out; nothing was touched.
 *     Change the request
 * @IOW_ERROR_SOURCE: the source failed: on a save the stream, on a restore the
 *     file
 * @IOW_ERROR_DESTINATION: the destination failed: on a save the file, on a
 *     restore the stream
 * @IOW_ERROR_NO_SPACE: no space, or no quota, left at the destination. Free
 *     some and save again
 * @IOW_ERROR_TRUNCATED: the stream ended before it was whole; nothing was
 *     committed
 * @IOW_ERROR_TOO_LONG: the stream is longer than was agreed; nothing was
 *     committed
 * @IOW_ERROR_CONSUMER_CLOSED: the reader left early. On a restore the
 *     hypervisor knows why: ask it
 * @IOW_ERROR_STALLED: no byte moved at one end for too long
 * @IOW_ERROR_CANCELLED: the relay was cancelled, closed or disposed of before
 *     it was decided. A wait that was given up is %G_IO_ERROR_CANCELLED instead
 * @IOW_ERROR_EXISTS: #IowRelay:no-clobber and the file exists already
 * @IOW_ERROR_WRITER_OPEN: somebody still holds a write end of the pipe; not
 *     final. Close it and commit again
 * @IOW_ERROR_HELPER: the helper could not be started, was lost, or answered
 *     something unintelligible
 *
 * What a caller can decide on.  The message is the first cause in the helper's
 * own words.
 *
 * Since: 1.0
 */
typedef enum
{
  IOW_ERROR_NOT_READY = 0,
  IOW_ERROR_INVALID = 1,
  IOW_ERROR_SOURCE = 2,
  IOW_ERROR_DESTINATION = 3,
  IOW_ERROR_NO_SPACE = 4,
  IOW_ERROR_TRUNCATED = 5,
  IOW_ERROR_TOO_LONG = 6,
  IOW_ERROR_CONSUMER_CLOSED = 7,
  IOW_ERROR_STALLED = 8,
  IOW_ERROR_CANCELLED = 9,
  IOW_ERROR_EXISTS = 10,
  IOW_ERROR_WRITER_OPEN = 11,
  IOW_ERROR_HELPER = 12
} IowError;

/**
 * IowDirection:
 * @IOW_DIRECTION_SAVE: "save": from the pipe to the file
 * @IOW_DIRECTION_RESTORE: "restore": from the file to the pipe
 *
 * Which way a relay moves.
 *
 * Since: 1.0
 */
typedef enum
{
  IOW_DIRECTION_SAVE = 0,
  IOW_DIRECTION_RESTORE = 1
} IowDirection;

/**
 * IowCacheMode:
 * @IOW_CACHE_MODE_AUTO: "auto": direct where the file takes it, else drop;
 *     a restore reads what is cached already from the cache
 * @IOW_CACHE_MODE_DIRECT: "direct": O_DIRECT, an error where the file does
 *     not take it
 * @IOW_CACHE_MODE_DROP: "drop": through the page cache, leaving nothing of
 *     ours in it
 * @IOW_CACHE_MODE_KEEP: "keep": plain buffered
 *
 * How the file is accessed.
 *
 * Since: 1.0
 */
typedef enum
{
  IOW_CACHE_MODE_AUTO = 0,
  IOW_CACHE_MODE_DIRECT = 1,
  IOW_CACHE_MODE_DROP = 2,
  IOW_CACHE_MODE_KEEP = 3
} IowCacheMode;

/**
 * IowSyncMode:
 * @IOW_SYNC_MODE_NONE: "none": the page cache is enough
 * @IOW_SYNC_MODE_DATA: "data": the data is on stable storage, fdatasync(2)
 * @IOW_SYNC_MODE_FULL: "full": the data, the file's attributes and its name
 *     are
 *
 * What a save has done by the time it is committed.  A restore has nothing to
 * sync.
 *
 * Since: 1.0
 */
typedef enum
{
  IOW_SYNC_MODE_NONE = 0,
  IOW_SYNC_MODE_DATA = 1,
  IOW_SYNC_MODE_FULL = 2
} IowSyncMode;

/**
 * IowEnd:
 * @IOW_END_NONE: "none": no failure, or none of an end
 * @IOW_END_SOURCE: "source": where the bytes come from
 * @IOW_END_DESTINATION: "destination": where they go
 * @IOW_END_HELPER: "helper": the process between the two
 *
 * Where the first cause of a failure lies.
 *
 * Since: 1.0
 */
typedef enum
{
  IOW_END_NONE = 0,
  IOW_END_SOURCE = 1,
  IOW_END_DESTINATION = 2,
  IOW_END_HELPER = 3
} IowEnd;

/**
 * IowOutcome:
 * @IOW_OUTCOME_UNDECIDED: "undecided": not ended yet
 * @IOW_OUTCOME_COMMITTED: "committed": a save: whole, synced as asked, in
 *     place
 * @IOW_OUTCOME_DELIVERED: "delivered": a restore: every byte accepted by the
 *     pipe, which does not prove that the hypervisor has read them
 * @IOW_OUTCOME_FAILED: "failed": an end or the helper failed
 * @IOW_OUTCOME_USAGE: "usage": the request could not be carried out
 * @IOW_OUTCOME_TRUNCATED: "truncated": shorter than agreed, or not whole
 * @IOW_OUTCOME_TOO_LONG: "too-long": longer than agreed
 * @IOW_OUTCOME_CONSUMER_CLOSED: "consumer-closed": a restore: the reader left
 *     early
 * @IOW_OUTCOME_STALLED: "stalled": no byte moved at one end for too long
 * @IOW_OUTCOME_CANCELLED: "cancelled": given up on request
 * @IOW_OUTCOME_EXISTS: "exists": #IowRelay:no-clobber and there was a file
 * @IOW_OUTCOME_NO_SPACE: "no-space": no space, or no quota
 *
 * What a relay ended as; the nicks (quoted) are the words of the record.
 *
 * Since: 1.0
 */
typedef enum
{
  IOW_OUTCOME_UNDECIDED = 0,
  IOW_OUTCOME_COMMITTED = 1,
  IOW_OUTCOME_DELIVERED = 2,
  IOW_OUTCOME_FAILED = 3,
  IOW_OUTCOME_USAGE = 4,
  IOW_OUTCOME_TRUNCATED = 5,
  IOW_OUTCOME_TOO_LONG = 6,
  IOW_OUTCOME_CONSUMER_CLOSED = 7,
  IOW_OUTCOME_STALLED = 8,
  IOW_OUTCOME_CANCELLED = 9,
  IOW_OUTCOME_EXISTS = 10,
  IOW_OUTCOME_NO_SPACE = 11
} IowOutcome;

#define IOW_TYPE_ERROR (iow_error_get_type ())
#define IOW_TYPE_DIRECTION (iow_direction_get_type ())
#define IOW_TYPE_CACHE_MODE (iow_cache_mode_get_type ())
#define IOW_TYPE_SYNC_MODE (iow_sync_mode_get_type ())
#define IOW_TYPE_END (iow_end_get_type ())
#define IOW_TYPE_OUTCOME (iow_outcome_get_type ())

IOW_API GQuark iow_error_quark (void);
IOW_API GType iow_error_get_type (void) G_GNUC_CONST;
IOW_API GType iow_direction_get_type (void) G_GNUC_CONST;
IOW_API GType iow_cache_mode_get_type (void) G_GNUC_CONST;
IOW_API GType iow_sync_mode_get_type (void) G_GNUC_CONST;
IOW_API GType iow_end_get_type (void) G_GNUC_CONST;
IOW_API GType iow_outcome_get_type (void) G_GNUC_CONST;

/* ---- the relay --------------------------------------------------------------- */

#define IOW_TYPE_RELAY (iow_relay_get_type ())

/**
 * IowRelay:
 *
 * One stream on its way between a pipe and a file, with the helper process that
 * moves it.
 *
 * A #GInitable: everything that shapes the relay is a construct-only property,
 * so that g_initable_new() and bindings can build every kind; the two
 * constructors below serve the plain ones.  Initialising makes the pipe, starts
 * the helper and returns once the file is open.
 *
 * A relay ends once, and the first end sticks: iow_relay_commit() and
 * iow_relay_wait() repeat it for as long as they are called.  The last reference
 * may be dropped at any time; an undecided relay is then cancelled, in the
 * background.
 *
 * Properties that hold results may be read at any time, and have their final
 * value once iow_relay_commit() or iow_relay_wait() has returned the relay's
 * end.  Changes of them are not notified.
 *
 * Since: 1.0
 */
IOW_API G_DECLARE_FINAL_TYPE (IowRelay, iow_relay, IOW, RELAY, GObject)

/**
 * iow_relay_new_for_path: (constructor)
 * @path: (type filename): the file, in the file system's encoding; relative to
 *     the current directory. A file named "-" is a file like any other
 * @direction: which way
 * @cancellable: (nullable): stops this call, and with it the relay
 * @error: return location for a #GError
 *
 * Starts a relay between a new pipe and the file of that name, with default
 * properties.  Saving to a regular file keeps the old content until the new one
 * is committed; devices, FIFOs and sockets are written in place.
 *
 * Blocks until the helper has opened the file (a FIFO: until the helper runs).
 *
 * Errors: %IOW_ERROR_INVALID (the file cannot be used like that: missing, a
 * directory, no permission ...), %IOW_ERROR_EXISTS, %IOW_ERROR_SOURCE or
 * %IOW_ERROR_DESTINATION (it cannot be opened for another reason),
 * %IOW_ERROR_NO_SPACE, %IOW_ERROR_HELPER (the helper could not be started),
 * %G_IO_ERROR_CANCELLED.
 *
 * Returns: (transfer full): a new relay, or %NULL with @error set
 *
 * Since: 1.0
 */
IOW_API IowRelay *iow_relay_new_for_path (const char *path, IowDirection direction,
                                          GCancellable *cancellable, GError **error)
    G_GNUC_WARN_UNUSED_RESULT;

/**
 * iow_relay_new_for_fd: (constructor)
 * @fd: an open descriptor of the file, readable (restore) or writable (save),
 *     0 included; stays the caller's, and may be closed once this has returned
 * @direction: which way
 * @cancellable: (nullable): stops this call, and with it the relay
 * @error: return location for a #GError
 *
 * Starts a relay between a new pipe and an open file, which is never opened
 * anew, removed or replaced: when a save fails, the file is left partial and is
 * the caller's.  The helper works on a duplicate, so it shares the file's offset
 * and flags with @fd.
 *
 * Blocks until the helper runs.  Errors: as iow_relay_new_for_path(), except
 * %IOW_ERROR_EXISTS.
 *
 * Returns: (transfer full): a new relay, or %NULL with @error set
 *
 * Since: 1.0
 */
IOW_API IowRelay *iow_relay_new_for_fd (int fd, IowDirection direction, GCancellable *cancellable,
                                        GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * iow_relay_get_fd:
 * @relay: a relay
 *
 * The pipe's end for the hypervisor: the write end of a save, the read end of a
 * restore.  Close-on-exec, non-blocking only with #IowRelay:nonblock.  It can be
 * polled; a non-blocking one says EAGAIN while the helper waits for storage.
 *
 * It stays the relay's, which closes it in iow_relay_commit(), in
 * iow_relay_wait() on a restore, in iow_relay_close() and with its last
 * reference.  Pass it on (a duplicate, SCM_RIGHTS, a child's descriptor), or use
 * it until then; do not close it.  A thread that uses it while another one
 * commits or waits must have it stolen instead.
 *
 * Returns: a descriptor; -1 before the relay is initialised, after
 *     iow_relay_steal_fd(), and once it is closed
 *
 * Since: 1.0
 */
IOW_API int iow_relay_get_fd (IowRelay *relay);

/**
 * iow_relay_steal_fd:
 * @relay: a relay
 *
 * As iow_relay_get_fd(), but the descriptor is the caller's from now on, and the
 * caller's to close: before iow_relay_commit() on a save.
 *
 * Returns: a descriptor, or -1 where iow_relay_get_fd() would return -1
 *
 * Since: 1.0
 */
IOW_API int iow_relay_steal_fd (IowRelay *relay) G_GNUC_WARN_UNUSED_RESULT;

/**
 * iow_relay_commit:
 * @relay: a relay that saves
 * @expected_bytes: how long the stream has to be, or -1 for any length
 * @cancellable: (nullable): stops the wait, not the relay
 * @error: return location for a #GError
 *
 * Asks for the save to be committed, and waits for its end.  This is the only
 * call that can commit: the file is replaced once end of file was seen on the
 * pipe and its length is @expected_bytes, never without this call.
 *
 * The relay's own copy of the pipe's end, if it was not stolen, is closed first.
 * If then no end of file comes within #IowRelay:commit-grace-ms, nothing is left
 * in the pipe, and somebody still holds a write end, the call gives up with
 * %IOW_ERROR_WRITER_OPEN.  Bytes that still wait for slow storage only make it
 * wait longer.
 *
 * Where this returns %IOW_ERROR_WRITER_OPEN, %G_IO_ERROR_CANCELLED or
 * %G_IO_ERROR_TIMED_OUT, the relay goes on and the call may be repeated.  The
 * request is withdrawn, unless end of file had been seen before: then the helper
 * is at it already, and a repeated call goes on waiting for that commit, with
 * the length that was given first.
 *
 * Errors, not final: %IOW_ERROR_WRITER_OPEN, %IOW_ERROR_NOT_READY,
 * %IOW_ERROR_INVALID for a relay that restores, %G_IO_ERROR_CANCELLED,
 * %G_IO_ERROR_TIMED_OUT (#IowRelay:wait-timeout-ms), %G_IO_ERROR_PENDING while
 * another iow_relay_commit() is under way.  Final: %IOW_ERROR_TRUNCATED,
 * %IOW_ERROR_TOO_LONG, %IOW_ERROR_NO_SPACE, %IOW_ERROR_SOURCE,
 * %IOW_ERROR_DESTINATION, %IOW_ERROR_STALLED, %IOW_ERROR_EXISTS,
 * %IOW_ERROR_CANCELLED, %IOW_ERROR_HELPER, %IOW_ERROR_INVALID.
 *
 * Returns: %TRUE if the whole stream is in place, synced as #IowRelay:sync asks
 *
 * Since: 1.0
 */
IOW_API gboolean iow_relay_commit (IowRelay *relay, gint64 expected_bytes,
                                   GCancellable *cancellable, GError **error);

/**
 * iow_relay_wait:
 * @relay: a relay
 * @cancellable: (nullable): stops the wait, not the relay
 * @error: return location for a #GError
 *
 * Waits for the relay's end without asking for anything.  The end of a restore
 * comes when all is delivered or an end fails; a save that is not committed ends
 * only by failing or by being cancelled.  One iow_relay_wait() and one
 * iow_relay_commit() may be under way at once.
 *
 * On a restore the relay's own copy of the pipe's end, if it was not stolen, is
 * closed first: it would hide from the helper that the hypervisor has died.
 *
 * Errors: as iow_relay_commit(), and %IOW_ERROR_CONSUMER_CLOSED on a restore;
 * never %IOW_ERROR_WRITER_OPEN.
 *
 * Returns: %TRUE if a save was committed, or if every byte of a restore was
 *     delivered
 *
 * Since: 1.0
 */
IOW_API gboolean iow_relay_wait (IowRelay *relay, GCancellable *cancellable, GError **error);

/**
 * iow_relay_cancel:
 * @relay: a relay
 *
 * Gives the relay up, unless it has ended or is just being committed.  A save
 * leaves the old file as it is.  Never blocks; iow_relay_wait() tells when it
 * has happened.  Does nothing before the relay is initialised.
 *
 * Since: 1.0
 */
IOW_API void iow_relay_cancel (IowRelay *relay);

/**
 * iow_relay_close:
 * @relay: a relay
 *
 * Releases the pipe's end and, if the relay is undecided, cancels it: a caller
 * that closes on every path never commits an image that is not whole.  Never
 * blocks.  Closing again does nothing; waiting for the end and reading results
 * is still possible.
 *
 * Since: 1.0
 */
IOW_API void iow_relay_close (IowRelay *relay);

/**
 * iow_relay_set_wait_timeout_ms:
 * @relay: a relay
 * @timeout_ms: milliseconds, 0 for no limit
 *
 * Sets #IowRelay:wait-timeout-ms for calls of iow_relay_commit() and
 * iow_relay_wait() that begin later.
 *
 * Since: 1.0
 */
IOW_API void iow_relay_set_wait_timeout_ms (IowRelay *relay, guint timeout_ms);

/**
 * iow_relay_get_outcome:
 * @relay: a relay
 *
 * Returns: what the relay ended as, %IOW_OUTCOME_UNDECIDED until it has
 *
 * Since: 1.0
 */
IOW_API IowOutcome iow_relay_get_outcome (IowRelay *relay);

/**
 * iow_relay_get_bytes_transferred:
 * @relay: a relay
 *
 * Returns: how many bytes the destination accepted; before the relay's end, the
 *     length of a save's stream once end of file was seen, else 0
 *
 * Since: 1.0
 */
IOW_API guint64 iow_relay_get_bytes_transferred (IowRelay *relay);

/**
 * iow_relay_get_pipe_size:
 * @relay: a relay
 *
 * Returns: how many bytes the pipe holds, 0 before the relay is initialised
 *
 * Since: 1.0
 */
IOW_API guint64 iow_relay_get_pipe_size (IowRelay *relay);

/**
 * iow_relay_dup_record:
 * @relay: a relay
 *
 * The helper's record as one JSON object, with the keys that iohelper(1) lists.
 *
 * Returns: (transfer full) (nullable): the record; %NULL before the relay's end,
 *     and where the helper was lost before it could give one
 *
 * Since: 1.0
 */
IOW_API char *iow_relay_dup_record (IowRelay *relay);

/**
 * iow_relay_dup_evidence:
 * @relay: a relay
 *
 * Returns: (transfer full) (nullable): what a commit was based on, "manager"
 *     where the library asked for it; %NULL without a record
 *
 * Since: 1.0
 */
IOW_API char *iow_relay_dup_evidence (IowRelay *relay);

/**
 * iow_relay_dup_cache_used:
 * @relay: a relay
 *
 * Returns: (transfer full) (nullable): the cache mode that was really used, a
 *     nick of #IowCacheMode or "none"; %NULL without a record
 *
 * Since: 1.0
 */
IOW_API char *iow_relay_dup_cache_used (IowRelay *relay);

/**
 * iow_relay_get_error_errno:
 * @relay: a relay
 *
 * Returns: the errno of the first cause, 0 where there is none
 *
 * Since: 1.0
 */
IOW_API int iow_relay_get_error_errno (IowRelay *relay);

/**
 * iow_relay_get_error_end:
 * @relay: a relay
 *
 * Returns: where the first cause lies
 *
 * Since: 1.0
 */
IOW_API IowEnd iow_relay_get_error_end (IowRelay *relay);

/**
 * iow_relay_get_error_offset:
 * @relay: a relay
 *
 * Returns: at which offset of the file or stream the first cause lies, -1 where
 *     it is not at an offset
 *
 * Since: 1.0
 */
IOW_API gint64 iow_relay_get_error_offset (IowRelay *relay);

/* ---- pipes ------------------------------------------------------------------- */

/**
 * iow_pipe_open:
 * @ret_read_fd: (out): the read end
 * @ret_write_fd: (out): the write end
 * @ret_size_bytes: (out) (optional): how many bytes the pipe holds
 * @error: return location for a #GError
 *
 * Makes a pipe, close-on-exec from birth, and grows it with iow_pipe_grow().
 * Neither end is 0, 1 or 2, even where those are closed.
 *
 * Errors: %IOW_ERROR_HELPER (no descriptor left).
 *
 * Returns: %TRUE if the pipe is there; on failure no output is set
 *
 * Since: 1.0
 */
IOW_API gboolean iow_pipe_open (int *ret_read_fd, int *ret_write_fd, gsize *ret_size_bytes,
                                GError **error);

/**
 * iow_pipe_grow:
 * @fd: either end of a pipe or FIFO
 * @error: return location for a #GError
 *
 * Grows a pipe to /proc/sys/fs/pipe-max-size (1 MiB if that cannot be read), or
 * to as much of it as the kernel grants: halved for as long as the user's quota
 * of pipe pages is in the way.  A pipe that cannot be grown is no error, and no
 * pipe is made smaller.
 *
 * Errors: %IOW_ERROR_INVALID (@fd is not open, or no pipe).
 *
 * Returns: how many bytes the pipe really holds now; 0 with @error set
 *
 * Since: 1.0
 */
IOW_API gsize iow_pipe_grow (int fd, GError **error);

/* ---- descriptors ---------------------------------------------------------------
 *
 * Any descriptor will do, 0 included, blocking or not.  EINTR is retried; EAGAIN
 * waits in poll(2); one call of the kernel moves at most 4 MiB.  SIGPIPE is not
 * raised.  The cancellable is looked at before each such call, and interrupts
 * the waiting for a pipe or socket; it cannot interrupt the kernel's own waiting
 * inside a call, such as a blocking write to a full pipe. */

/**
 * iow_fd_read_full: (skip)
 * @fd: a descriptor
 * @buffer: room for @count bytes
 * @count: how many bytes to read
 * @bytes_read: (out) (optional): how many bytes were read; set on failure, too
 * @cancellable: (nullable): stops the call
 * @error: return location for a #GError
 *
 * Reads @count bytes, fewer only at end of file, which is no error: compare
 * @bytes_read.
 *
 * Errors: %IOW_ERROR_INVALID (bad descriptor, @count beyond %G_MAXSSIZE),
 * %IOW_ERROR_SOURCE, %G_IO_ERROR_CANCELLED.
 *
 * Returns: %TRUE unless reading failed
 *
 * Since: 1.0
 */
IOW_API gboolean iow_fd_read_full (int fd, void *buffer, gsize count, gsize *bytes_read,
                                   GCancellable *cancellable, GError **error);

/**
 * iow_fd_write_all: (skip)
 * @fd: a descriptor
 * @buffer: @count bytes
 * @count: how many bytes to write
 * @bytes_written: (out) (optional): how many bytes were written; set on failure,
 *     too
 * @cancellable: (nullable): stops the call
 * @error: return location for a #GError
 *
 * Writes @count bytes at the descriptor's own offset.
 *
 * Errors: %IOW_ERROR_INVALID (bad descriptor, @count beyond %G_MAXSSIZE),
 * %IOW_ERROR_NO_SPACE, %IOW_ERROR_CONSUMER_CLOSED (nobody reads the pipe or
 * socket any more), %IOW_ERROR_DESTINATION, %G_IO_ERROR_CANCELLED.
 *
 * Returns: %TRUE if all was written
 *
 * Since: 1.0
 */
IOW_API gboolean iow_fd_write_all (int fd, const void *buffer, gsize count, gsize *bytes_written,
                                   GCancellable *cancellable, GError **error);

/**
 * iow_fd_pwrite_all: (skip)
 * @fd: a descriptor of something with offsets
 * @buffer: @count bytes
 * @count: how many bytes to write
 * @offset: where, in bytes from the start
 * @bytes_written: (out) (optional): how many bytes were written; set on failure,
 *     too
 * @cancellable: (nullable): stops the call
 * @error: return location for a #GError
 *
 * Writes @count bytes at @offset; the descriptor's own offset stays.
 *
 * Errors: as iow_fd_write_all(); %IOW_ERROR_INVALID also if @offset is negative
 * or @offset + @count does not fit 63 bits.
 *
 * Returns: %TRUE if all was written
 *
 * Since: 1.0
 */
IOW_API gboolean iow_fd_pwrite_all (int fd, const void *buffer, gsize count, goffset offset,
                                    gsize *bytes_written, GCancellable *cancellable,
                                    GError **error);

/**
 * iow_fd_read_bytes: (rename-to iow_fd_read_full)
 * @fd: a descriptor
 * @count: how many bytes to read
 * @cancellable: (nullable): stops the call
 * @error: return location for a #GError
 *
 * iow_fd_read_full() for bindings.  What had been read before an error is lost.
 *
 * Returns: (transfer full): the bytes, fewer than @count at end of file; %NULL
 *     with @error set
 *
 * Since: 1.0
 */
IOW_API GBytes *iow_fd_read_bytes (int fd, gsize count, GCancellable *cancellable, GError **error);

/**
 * iow_fd_write_bytes: (rename-to iow_fd_write_all)
 * @fd: a descriptor
 * @bytes: what to write
 * @bytes_written: (out) (optional): how many bytes were written; set on failure,
 *     too
 * @cancellable: (nullable): stops the call
 * @error: return location for a #GError
 *
 * iow_fd_write_all() for bindings.
 *
 * Returns: %TRUE if all was written
 *
 * Since: 1.0
 */
IOW_API gboolean iow_fd_write_bytes (int fd, GBytes *bytes, gsize *bytes_written,
                                     GCancellable *cancellable, GError **error);

/**
 * iow_fd_pwrite_bytes: (rename-to iow_fd_pwrite_all)
 * @fd: a descriptor of something with offsets
 * @bytes: what to write
 * @offset: where, in bytes from the start
 * @bytes_written: (out) (optional): how many bytes were written; set on failure,
 *     too
 * @cancellable: (nullable): stops the call
 * @error: return location for a #GError
 *
 * iow_fd_pwrite_all() for bindings.
 *
 * Returns: %TRUE if all was written
 *
 * Since: 1.0
 */
IOW_API gboolean iow_fd_pwrite_bytes (int fd, GBytes *bytes, goffset offset, gsize *bytes_written,
                                      GCancellable *cancellable, GError **error);

G_END_DECLS

#endif
