/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * status.h - what a relay can end as, and the words for it.
 *
 * The only header that the helper and the library share: the exit statuses,
 * the keys of the result record, and the words on the private socket between
 * a manager and its helper.  Plain C99, includes nothing, defines no storage.
 *
 * Invariant: one row here is one outcome everywhere (exit status, record,
 * messages, IowError, manual).  Rows are only ever added.
 */
#ifndef IOH_STATUS_H
#define IOH_STATUS_H

/* X (NAME, word, exit status, IowError code, meaning)
 *
 * CANCELLED: 7 when the request came over a socket or a descriptor; after a
 * signal the helper cleans up and then dies of that same signal.  libvirt's
 * forms map every row but the first two to 1. */
#define IOH_OUTCOMES(X)                                                       \
  X (COMMITTED, "committed", 0, NONE,                                         \
     "save: whole by the evidence named, synced as asked, in place")          \
  X (DELIVERED, "delivered", 0, NONE,                                         \
     "restore: every byte accepted by the consumer's end")                    \
  X (FAILED, "failed", 1, DESTINATION,                                        \
     "an end failed; the record names the end, the operation and the offset") \
  X (USAGE, "usage", 2, INVALID,                                              \
     "the request cannot be carried out; nothing was touched")                \
  X (TRUNCATED, "truncated", 3, TRUNCATED,                                    \
     "the stream ended before it was whole; nothing was committed")           \
  X (TOO_LONG, "too-long", 4, TOO_LONG,                                       \
     "the stream is longer than was agreed; nothing was committed")           \
  X (CONSUMER_CLOSED, "consumer-closed", 5, CONSUMER_CLOSED,                  \
     "restore: the reader left early; the record has the bytes delivered")    \
  X (STALLED, "stalled", 6, STALLED, "no byte moved at one end for too long") \
  X (CANCELLED, "cancelled", 7, CANCELLED, "given up on request")             \
  X (EXISTS, "exists", 8, EXISTS, "--no-clobber: the file exists already")    \
  X (NO_SPACE, "no-space", 9, NO_SPACE,                                       \
     "no space, or no quota, left at the destination")

enum ioh_outcome
{
#define X(name, word, status, code, meaning) IOH_##name,
  IOH_OUTCOMES (X)
#undef X
  IOH_N_OUTCOMES
};

/* The record: one JSON object on one line.  Unknown keys must be ignored by a
 * reader; a key keeps its meaning for as long as "version" keeps its value. */
#define IOH_RECORD_VERSION 1

#define IOH_KEY_VERSION "version"          /* integer, IOH_RECORD_VERSION */
#define IOH_KEY_PROGRAM "program"          /* "iohelper 1.0" */
#define IOH_KEY_MODE "mode"                /* libvirt | operator | library */
#define IOH_KEY_DIRECTION "direction"      /* save | restore */
#define IOH_KEY_FILE "file"                /* as given by the user; null if it is not UTF-8 */
#define IOH_KEY_OUTCOME "outcome"          /* a word of IOH_OUTCOMES */
#define IOH_KEY_EXIT_STATUS "exit_status"  /* integer; null: dies of "signal" */
#define IOH_KEY_SIGNAL "signal"            /* "SIGTERM"; absent without one */
#define IOH_KEY_BYTES "bytes"              /* accepted by the destination */
#define IOH_KEY_SECONDS "seconds"          /* wall clock, floating point */
#define IOH_KEY_THROUGHPUT "throughput"    /* bytes per second, integer */
#define IOH_KEY_ENGINE "engine"            /* copy | splice | uring */
#define IOH_KEY_ENGINE_WHY "engine_why"    /* why that one */
#define IOH_KEY_CACHE "cache"              /* really used: direct | drop | keep | none */
#define IOH_KEY_CACHE_WHY "cache_why"      /* why that one */
#define IOH_KEY_SYNC "sync"                /* full | data | none, as carried out */
#define IOH_KEY_SYNCED "synced"            /* boolean: did a sync succeed */
#define IOH_KEY_PIPE_SIZE "pipe_size"      /* bytes the stream's pipe holds; null: no pipe */
#define IOH_KEY_BUFFER_SIZE "buffer_size"  /* bytes */
#define IOH_KEY_EVIDENCE "evidence"        /* none | eof | format | length | child | manager */
#define IOH_KEY_FORMAT "format"            /* qemu | libvirt | elf | unknown */
#define IOH_KEY_TARGET "target"            /* save: see IOH_TARGETS */
#define IOH_KEY_COMMAND_STATUS "command_status" /* exit status of COMMAND, 128+n for a signal */
#define IOH_KEY_DATA_PLANE "data_plane"    /* "ended" | "killed" | "stuck" */
#define IOH_KEY_WORKER_PID "worker_pid"    /* integer, only with "stuck" */
#define IOH_KEY_WARNINGS "warnings"        /* array of strings, absent when empty */
#define IOH_KEY_ERROR "error"              /* first cause, null when there is none: */
#define IOH_KEY_ERROR_END "end"            /* source | destination | helper */
#define IOH_KEY_ERROR_OPERATION "operation" /* "writing", "opening", "syncing", ... */
#define IOH_KEY_ERROR_ERRNO "errno"        /* "ENOSPC"; null: not an errno */
#define IOH_KEY_ERROR_TEXT "text"          /* "No space left on device" */
#define IOH_KEY_ERROR_OFFSET "offset"      /* integer; null: not at an offset */
#define IOH_KEY_ERROR_MESSAGE "message"    /* the whole line, as on stderr */

/* What became of FILE, in "target". */
#define IOH_TARGETS(X)                                                        \
  X (UNTOUCHED, "untouched") /* as it was before */                           \
  X (NEW, "new")             /* the stream is in place */                     \
  X (UNSURE, "new, durability unknown")                                       \
  X (PARTIAL, "partial")     /* written in place, not whole */                \
  X (UNKNOWN, "unknown")     /* the worker was lost while committing */

enum ioh_target_state
{
#define X(name, word) IOH_TARGET_##name,
  IOH_TARGETS (X)
#undef X
  IOH_N_TARGETS
};

/* The private socket of --manager-fd: a stream socket, one JSON object a line.
 *
 * Requests to the helper:
 *   {"command":"commit","expected_bytes":N}    N = -1: any length
 *   {"command":"cancel"}
 * Events from the helper:
 *   {"event":"ready"}            the target is open, the relay runs
 *   {"event":"eof","bytes":N}    save: end of file seen on the stream
 *   {"event":"result", ...}      last; the record's keys beside "event"
 * End of file before the commit has begun is a cancel. */
#define IOH_WIRE_COMMAND "command"
#define IOH_WIRE_COMMIT "commit"
#define IOH_WIRE_EXPECTED_BYTES "expected_bytes"
#define IOH_WIRE_CANCEL "cancel"
#define IOH_WIRE_EVENT "event"
#define IOH_WIRE_READY "ready"
#define IOH_WIRE_EOF "eof"
#define IOH_WIRE_RESULT "result"

#endif
