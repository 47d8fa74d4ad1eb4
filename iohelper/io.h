/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * io.h - the only caller of the calls that move or flush data.
 *
 * All functions return 0 or a byte count, or -errno; errno itself is read on
 * the line after the call and nowhere else.  EINTR is retried unless the relay
 * was cancelled (-ECANCELED); EAGAIN waits for the descriptor in poll(2), so
 * blocking and non-blocking descriptors behave alike and no flag of a
 * descriptor that somebody else shares is changed.
 */
#ifndef IOH_IO_H
#define IOH_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes still to be moved.  One function advances all three members, so that
 * they cannot drift apart. */
struct ioh_span
{
  const unsigned char *ptr;
  size_t len;
  uint64_t off; /* where ptr belongs in the file */
};

static inline void
ioh_span_advance (struct ioh_span *s, size_t n)
{
  s->ptr += n;
  s->len -= n;
  s->off += n;
}

/* True once the relay was cancelled; set by the worker at start, NULL in
 * programs without a controller (unit tests). */
extern bool (*ioh_io_cancelled) (void);

/* open(2) with O_CLOEXEC.  An fd or -errno. */
int ioh_open (const char *path, int flags, unsigned mode);
int ioh_openat (int dir_fd, const char *path, int flags, unsigned mode);

/* False when FD takes nothing within TIMEOUT_MS: a reader that does not read
 * must not keep us from ending. */
bool ioh_is_writable (int fd, int timeout_ms);

/* At most LEN bytes from the descriptor's own position, or with POSITIONAL
 * from OFF.  0 is end of file. */
ssize_t ioh_read (int fd, void *buf, size_t len, bool positional, uint64_t off);

/* Writes until SPAN is empty; on failure SPAN says what was left.  FLAGS are
 * RWF_* for pwritev2(2), 0 for none; without POSITIONAL span->off only counts. */
int ioh_write_all (int fd, struct ioh_span *span, bool positional, int flags);

/* That a pipe or a character device cannot be synced is no error: *SYNCED then
 * stays false.  Of a regular file or a block device every errno is one. */
int ioh_sync (int fd, bool data_only, bool *synced);

int ioh_truncate (int fd, uint64_t length);

/* Starts, or with WAIT finishes, write-back of a range. */
int ioh_writeback (int fd, uint64_t off, uint64_t len, bool wait);

/* Drops clean pages of a range from the page cache; advice, never fails. */
void ioh_drop (int fd, uint64_t off, uint64_t len);

/* No readahead: what is read is what is asked for; advice, never fails. */
void ioh_no_readahead (int fd);

/* Pages of the range in the page cache, and pages in the range; -errno where
 * the kernel does not tell (cachestat(2) since 6.5, else mincore(2)). */
int ioh_cached (int fd, uint64_t off, uint64_t len, uint64_t *cached, uint64_t *pages);

/* Closes and reports: -errno of close(2), EINTR being success on Linux. */
int ioh_close (int fd);

/* Pushes what close(2) would (NFS flushes there) while FD stays open. */
int ioh_flush_on_close (int fd);

/* Sets or clears O_DIRECT on the open file description. */
int ioh_set_direct (int fd, bool on);

#endif
