/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * io.c - moves and flushes bytes; see io.h for the contract.
 */
#include <config.h>

#include "iohelper/io.h"

#include "iohelper/tunables.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef __NR_cachestat
#define __NR_cachestat 451 /* the same on every architecture */
#endif

bool (*ioh_io_cancelled) (void);

static bool
cancelled (void)
{
  return ioh_io_cancelled && ioh_io_cancelled ();
}

static int
wait_for (int fd, short events)
{
  struct pollfd p = { .fd = fd, .events = events };

  while (poll (&p, 1, -1) < 0)
    {
      if (errno != EINTR)
        return -errno;
      if (cancelled ())
        return -ECANCELED;
    }
  return 0;
}

/* What to do about a failed transfer call: 0 to try again, or -errno. */
static int
after_error (int err, int fd, short events)
{
  if (err == EINTR)
    return cancelled () ? -ECANCELED : 0;
  if (err == EAGAIN)
    return wait_for (fd, events);
  return -err;
}

bool
ioh_is_writable (int fd, int timeout_ms)
{
  struct pollfd p = { .fd = fd, .events = POLLOUT };
  int n;

  do
    n = poll (&p, 1, timeout_ms);
  while (n < 0 && errno == EINTR);
  return n != 0;
}

/* A FIFO's other end may never come. */
int
ioh_openat (int dir_fd, const char *path, int flags, unsigned mode)
{
  int fd;

  while ((fd = openat (dir_fd, path, flags | O_CLOEXEC, (mode_t) mode)) < 0)
    {
      if (errno != EINTR)
        return -errno;
      if (cancelled ())
        return -ECANCELED;
    }
  return fd;
}

int
ioh_open (const char *path, int flags, unsigned mode)
{
  return ioh_openat (AT_FDCWD, path, flags, mode);
}

ssize_t
ioh_read (int fd, void *buf, size_t len, bool positional, uint64_t off)
{
  if (len > IOH_CALL_MAX)
    len = IOH_CALL_MAX;
  for (;;)
    {
      ssize_t n = positional ? pread (fd, buf, len, (off_t) off) : read (fd, buf, len);
      if (n >= 0)
        return n;
      int r = after_error (errno, fd, POLLIN);
      if (r < 0)
        return r;
    }
}

static ssize_t
write_once (int fd, const struct ioh_span *s, size_t len, bool positional, int flags)
{
#ifdef HAVE_PWRITEV2
  if (flags)
    {
      struct iovec iov = { (void *) s->ptr, len };
      return pwritev2 (fd, &iov, 1, positional ? (off_t) s->off : -1, flags);
    }
#endif
  if (positional)
    return pwrite (fd, s->ptr, len, (off_t) s->off);
  return write (fd, s->ptr, len);
}

int
ioh_write_all (int fd, struct ioh_span *span, bool positional, int flags)
{
#ifndef HAVE_PWRITEV2
  if (flags)
    return -EOPNOTSUPP;
#endif
  while (span->len > 0)
    {
      size_t len = span->len < IOH_CALL_MAX ? span->len : IOH_CALL_MAX;
      ssize_t n = write_once (fd, span, len, positional, flags);
      if (n > 0)
        ioh_span_advance (span, (size_t) n);
      else if (n == 0)
        return -EIO; /* no progress and no reason: never spin */
      else
        {
          int r = after_error (errno, fd, POLLOUT);
          if (r < 0)
            return r;
        }
    }
  return 0;
}

/* Pipes, sockets and character devices cannot be synced, nor can directories of
 * some file systems.  A file system that went read-only by an error says EROFS
 * of files that are lost. */
static bool
cannot_be_synced (int fd, int err)
{
  struct stat st;

  if (fstat (fd, &st) < 0 || S_ISREG (st.st_mode) || S_ISBLK (st.st_mode))
    return false;
  return err == EINVAL || err == ENOTSUP || (err == EROFS && !S_ISDIR (st.st_mode));
}

int
ioh_sync (int fd, bool data_only, bool *synced)
{
  while ((data_only ? fdatasync (fd) : fsync (fd)) < 0)
    {
      int err = errno;
      if (cannot_be_synced (fd, err))
        return 0;
      if (err != EINTR)
        return -err;
      if (cancelled ())
        return -ECANCELED;
    }
  *synced = true;
  return 0;
}

int
ioh_truncate (int fd, uint64_t length)
{
  while (ftruncate (fd, (off_t) length) < 0)
    if (errno != EINTR)
      return -errno;
  return 0;
}

int
ioh_writeback (int fd, uint64_t off, uint64_t len, bool wait)
{
  unsigned flags = SYNC_FILE_RANGE_WRITE;

  if (wait)
    flags |= SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER;
  while (sync_file_range (fd, (off64_t) off, (off64_t) len, flags) < 0)
    {
      if (errno == ENOSYS || errno == ESPIPE || errno == EINVAL)
        return 0; /* no such call or not such a file: advice only */
      if (errno != EINTR)
        return -errno;
      if (cancelled ())
        return -ECANCELED;
    }
  return 0;
}

void
ioh_drop (int fd, uint64_t off, uint64_t len)
{
  (void) posix_fadvise (fd, (off_t) off, (off_t) len, POSIX_FADV_DONTNEED);
}

void
ioh_no_readahead (int fd)
{
  (void) posix_fadvise (fd, 0, 0, POSIX_FADV_RANDOM);
}

/* mincore(2) wants a mapping; mapping a range touches no page of it. */
static int
cached_by_mincore (int fd, uint64_t off, uint64_t len, uint64_t pages, uint64_t *cached)
{
  unsigned char *vec = malloc (pages);
  void *map;
  int r = 0;

  if (!vec)
    return -ENOMEM;
  map = mmap (NULL, len, PROT_READ, MAP_SHARED, fd, (off_t) off);
  if (map == MAP_FAILED)
    r = -errno;
  else
    {
      *cached = 0;
      if (mincore (map, len, vec) < 0)
        r = -errno;
      else
        for (uint64_t i = 0; i < pages; i++)
          *cached += vec[i] & 1;
      munmap (map, len);
    }
  free (vec);
  return r;
}

int
ioh_cached (int fd, uint64_t off, uint64_t len, uint64_t *cached, uint64_t *pages)
{
  static bool no_cachestat;
  uint64_t page = (uint64_t) sysconf (_SC_PAGESIZE);
  struct { uint64_t off, len; } range;
  struct { uint64_t cache, dirty, writeback, evicted, recently_evicted; } stat;

  len += off % page;
  off -= off % page;
  *pages = (len + page - 1) / page;
  range.off = off;
  range.len = len;
  if (!no_cachestat)
    {
      if (syscall (__NR_cachestat, fd, &range, &stat, 0) == 0)
        {
          *cached = stat.cache;
          return 0;
        }
      if (errno != ENOSYS)
        return -errno;
      no_cachestat = true;
    }
  return cached_by_mincore (fd, off, len, *pages, cached);
}

int
ioh_close (int fd)
{
  if (close (fd) < 0 && errno != EINTR)
    return -errno;
  return 0;
}

int
ioh_flush_on_close (int fd)
{
  int twin = fcntl (fd, F_DUPFD_CLOEXEC, 3);

  if (twin < 0)
    return -errno;
  return ioh_close (twin);
}

int
ioh_set_direct (int fd, bool on)
{
  int flags = fcntl (fd, F_GETFL);

  if (flags < 0)
    return -errno;
  if (((flags & O_DIRECT) != 0) == on)
    return 0;
  flags = on ? flags | O_DIRECT : flags & ~O_DIRECT;
  return fcntl (fd, F_SETFL, flags) < 0 ? -errno : 0;
}
