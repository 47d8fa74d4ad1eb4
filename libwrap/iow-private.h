/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-private.h - what the library's own files share: errors, descriptors,
 * locks.
 *
 * Nothing here is exported; iowrap.map lists what is.
 */
#ifndef IOW_PRIVATE_H
#define IOW_PRIVATE_H

#include "libwrap/iowrap.h"

#include "iohelper/status.h"

/* One transfer call moves at most this much: one write of 2 GB breaks down to
 * 4 KiB copies in some file systems, pieces of 4 MiB do not. */
#define IOW_CALL_MAX ((gsize) 4 << 20)

/* ---- locks -------------------------------------------------------------------
 *
 * GLib's mutex is a futex inside a library that ThreadSanitizer has not seen
 * compiled, so the order that it makes has to be told. */
#if defined(__SANITIZE_THREAD__)
#define IOW_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IOW_TSAN 1
#endif
#endif

#ifdef IOW_TSAN
void __tsan_acquire (void *addr);
void __tsan_release (void *addr);
#define IOW_TSAN_ACQUIRE(p) __tsan_acquire (p)
#define IOW_TSAN_RELEASE(p) __tsan_release (p)
#else
#define IOW_TSAN_ACQUIRE(p) ((void) (p))
#define IOW_TSAN_RELEASE(p) ((void) (p))
#endif

static inline void
iow_lock (GMutex *m)
{
  g_mutex_lock (m);
  IOW_TSAN_ACQUIRE (m);
}

static inline void
iow_unlock (GMutex *m)
{
  IOW_TSAN_RELEASE (m);
  g_mutex_unlock (m);
}

/* UNTIL: monotonic time in microseconds, or -1 for no limit. */
static inline void
iow_cond_wait (GCond *c, GMutex *m, gint64 until)
{
  IOW_TSAN_RELEASE (m);
  if (until < 0)
    g_cond_wait (c, m);
  else
    (void) g_cond_wait_until (c, m, until);
  IOW_TSAN_ACQUIRE (m);
}

/* ---- errors (iow-error.c) ------------------------------------------------------ */

/* The IowError code of an outcome; END tells the two halves of "failed" apart.
 * -1 for the outcomes that are no error. */
int iow_error_code_of (enum ioh_outcome outcome, IowEnd end);

/* The outcome of WORD, or IOH_N_OUTCOMES. */
enum ioh_outcome iow_outcome_of_word (const char *word);

/* What an outcome means, for messages that have no cause of their own. */
const char *iow_outcome_meaning (enum ioh_outcome outcome);

/* "DOING: reason", the code by ERR (a positive errno) and END. */
void iow_set_errno_error (GError **error, IowEnd end, int err, const char *format, ...)
  G_GNUC_PRINTF (4, 5);

/* ENOSPC for "ENOSPC" or "errno 28"; 0 for what is unknown or NULL. */
int iow_errno_of_name (const char *name);

/* ---- descriptors (iow-pipe.c) --------------------------------------------------- */

/* Closes *FD unless it is -1, and makes it -1.  errno survives. */
void iow_fd_clear (int *fd);

/* *FD, which becomes -1: the caller of this is its owner from now on. */
static inline int
iow_fd_steal (int *fd)
{
  int stolen = *fd;

  *fd = -1;
  return stolen;
}

/* Moves *FD off 0, 1 and 2, so that text written to a standard descriptor that
 * the process has closed cannot end up in a stream.  Close-on-exec either way. */
gboolean iow_fd_lift (int *fd, GError **error);

/* A descriptor for the pipe behind FD that is neither a reader nor a writer
 * (O_PATH), for iow_pipe_probe(); -1 where there is no /proc. */
int iow_pipe_path_fd (int fd);

typedef enum
{
  IOW_PIPE_UNKNOWN, /* cannot tell: no /proc, or the user has changed */
  IOW_PIPE_QUIET,   /* empty, and somebody holds a write end */
  IOW_PIPE_DATA,    /* something in it still waits for its reader */
  IOW_PIPE_ENDED,   /* empty, no writer left */
} IowPipeState;

/* Looks without taking a byte and without staying a reader. */
IowPipeState iow_pipe_probe (int path_fd);

#endif
