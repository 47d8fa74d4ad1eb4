/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tunables.h - every number that was chosen, with the reason for it.
 */
#ifndef IOH_TUNABLES_H
#define IOH_TUNABLES_H

/* Bytes read before they are written.  As large as the stream pipe can be for
 * an unprivileged user, so that one fill empties the pipe; larger ones leave
 * the CPU's second-level cache (bench/README.md, "Buffer size"). */
#define IOH_BUFFER_SIZE (1u << 20)
#define IOH_BUFFER_MIN (4u << 10)
#define IOH_BUFFER_MAX (64u << 20)

/* One system call moves at most this much: larger writes are split by the
 * kernel into 4 KiB copies on some paths, and a cancel has to wait for one
 * whole call. */
#define IOH_CALL_MAX (4u << 20)

/* Where /proc/sys/fs/pipe-max-size cannot be read: the kernel's own default
 * for it since 2.6.35. */
#define IOH_PIPE_MAX_FALLBACK (1u << 20)

/* Alignment assumed for direct I/O where the kernel does not tell (statx
 * without STATX_DIOALIGN before 6.1, network file systems): the page size,
 * a multiple of every sector size in use. */
#define IOH_DIRECT_ALIGN 4096u

/* --cache=drop without RWF_DONTCACHE: pages are written back and dropped in
 * windows of this size, one behind the writer, so that at most two are held. */
#define IOH_DROP_WINDOW (8u << 20)

/* The worker may run this far ahead of the controller.  A stopped controller
 * (SIGSTOP) so stops the relay, as it does with a single-process helper. */
#define IOH_CREDIT_WINDOW (16u << 20)

/* Cancel: how often a blocked worker is nudged, how long it may take to leave
 * by itself, and how long SIGKILL may take before it counts as stuck. */
#define IOH_NUDGE_MS 20
#define IOH_CANCEL_GRACE_MS 1500
#define IOH_KILL_GRACE_MS 400

/* How long the temporary file of a killed worker may take to be removed: the
 * storage that made it hang may be hanging still. */
#define IOH_REMOVE_MS 400

/* A signal that comes once the commit has begun: what is left is one rename
 * and the sync of one directory, which on busy storage take seconds.  Killing
 * a worker there leaves doubt, so it gets more time than a cancel. */
#define IOH_COMMIT_GRACE_MS 5000

/* After the relay has ended, how long COMMAND may take to end by itself once
 * its pipe is gone. */
#define IOH_COMMAND_GRACE_MS 5000

/* Kept for the record from the start, since a save that is done must be able to
 * say so: its longest name with every byte escaped, twice while it grows.
 * Below malloc's threshold for mappings (128 KiB), so that it stays ours when
 * it is freed. */
#define IOH_RECORD_RESERVE (120u << 10)

/* How long the last words wait for a reader: a line on stderr, a record. */
#define IOH_LAST_WORDS_MS 1000

#endif
