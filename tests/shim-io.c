/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * shim-io.c - preloaded into a program, makes its transfer calls short or
 * interrupted, as a signal, a small pipe or a busy file system may at any time.
 *
 *   SHIM_MAX=N         a call moves at most N bytes
 *   SHIM_EINTR=N       every Nth call fails with EINTR and moves nothing (N > 1)
 *   SHIM_ALIGN=N       with O_DIRECT short counts stay multiples of N (512)
 *   SHIM_UNALIGNED=1   with O_DIRECT too a count may be any
 *   SHIM_LOG=FILE      a line "short CALL" or "eintr CALL" for each call changed,
 *                      so that a test can prove that the shim acted; appended,
 *                      and no more than 1000 of each CALL of a process
 *
 * Only regular files, block devices, pipes and stream sockets are meant: there
 * a short count is always allowed, and a message or a counter is never cut.
 *
 * Invariant: a call does something that the kernel might have done, and never
 * moves a byte that it does not report, but for SHIM_UNALIGNED, where bytes
 * that are not reported may be in the file already and are written again.
 */
#include <config.h>

/* Both names of each call are defined here; no header may turn one into the
 * other, or into a checking wrapper. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__ ((visibility ("default")))
#define LOG_MAX 1000

#define NEXT(f)                                                               \
  ({                                                                          \
    static __typeof__ (&f) next;                                              \
    if (!next)                                                                \
      next = (__typeof__ (&f)) dlsym (RTLD_NEXT, #f);                         \
    next;                                                                     \
  })

static size_t max_bytes, align_bytes = 512;
static unsigned long eintr_every;
static bool unaligned;
static const char *log_path;
static atomic_ulong n_calls;

/* One for each call that is defined here. */
struct site
{
  const char *call;
  atomic_ulong n_logged;
};

static unsigned long
number (const char *name, unsigned long otherwise)
{
  const char *text = getenv (name);
  return text && *text ? strtoul (text, NULL, 10) : otherwise;
}

__attribute__ ((constructor)) static void
start (void)
{
  max_bytes = number ("SHIM_MAX", 0);
  align_bytes = number ("SHIM_ALIGN", 512);
  if (align_bytes == 0)
    align_bytes = 1;
  eintr_every = number ("SHIM_EINTR", 0);
  if (eintr_every == 1)
    eintr_every = 2; /* else a caller that tries again would do so for ever */
  unaligned = number ("SHIM_UNALIGNED", 0) != 0;
  log_path = getenv ("SHIM_LOG");
}

static void
note (const char *what, struct site *site)
{
  int saved = errno, fd;
  char line[64];

  if (log_path && *log_path && atomic_fetch_add (&site->n_logged, 1) < LOG_MAX)
    {
      /* Opened each time: a program may close what it does not know. */
      fd = open (log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
      if (fd >= 0)
        {
          int len = snprintf (line, sizeof line, "%s %s\n", what, site->call);
          if (NEXT (write) (fd, line, (size_t) len) != len)
            abort ();
          close (fd);
        }
    }
  errno = saved;
}

static bool
meant (int fd)
{
  struct stat st;
  int type;
  socklen_t len = sizeof type;

  if (fd < 0 || fstat (fd, &st) < 0)
    return false;
  if (S_ISSOCK (st.st_mode))
    return getsockopt (fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
  return S_ISREG (st.st_mode) || S_ISBLK (st.st_mode) || S_ISFIFO (st.st_mode);
}

/* A pipe may be O_DIRECT too (packet mode); there it asks for no alignment. */
static bool
is_direct (int fd)
{
  int flags = fcntl (fd, F_GETFL);
  struct stat st;

  return flags >= 0 && (flags & O_DIRECT) && fstat (fd, &st) == 0 && !S_ISFIFO (st.st_mode);
}

struct cut
{
  struct site *site;
  size_t len;    /* what the kernel is asked for */
  size_t report; /* what is said to have moved, at most */
};

/* OTHER: the second descriptor of a splice, or FD again.  FALSE with errno set:
 * the call fails. */
static bool
begin (struct cut *c, struct site *site, int fd, int other, size_t len)
{
  int saved = errno;
  bool direct;

  *c = (struct cut){ .site = site, .len = len, .report = SIZE_MAX };
  if ((!max_bytes && !eintr_every) || len == 0 || !meant (fd) || !meant (other))
    goto out;
  if (eintr_every && (atomic_fetch_add (&n_calls, 1) + 1) % eintr_every == 0)
    {
      note ("eintr", site);
      errno = EINTR;
      return false;
    }
  if (!max_bytes || len <= max_bytes)
    goto out;
  direct = is_direct (fd) || is_direct (other);
  if (direct && unaligned && fd == other)
    {
      c->report = max_bytes;
      goto out;
    }
  c->len = max_bytes;
  if (direct)
    {
      c->len -= max_bytes % align_bytes;
      if (c->len == 0)
        c->len = align_bytes;
      if (c->len >= len)
        c->len = len;
    }
  if (c->len < len)
    note ("short", site);
out:
  errno = saved;
  return true;
}

#define BEGIN(c, name, fd, other, len)                                        \
  ({                                                                          \
    static struct site site = { .call = name };                               \
    begin (&(c), &site, fd, other, len);                                      \
  })

/* MOVES: the call moves the position of FD. */
static ssize_t
end (const struct cut *c, ssize_t n, int fd, bool moves)
{
  if (n <= 0 || (size_t) n <= c->report)
    return n;
  if (moves)
    lseek (fd, (off_t) c->report - n, SEEK_CUR);
  note ("short", c->site);
  return (ssize_t) c->report;
}

/* The vector, cut to LEN bytes: its number of elements. */
static int
cut_vector (struct iovec *to, const struct iovec *from, int n, size_t len)
{
  int i = 0;

  for (; i < n && len > 0; i++)
    {
      to[i] = from[i];
      if (to[i].iov_len > len)
        to[i].iov_len = len;
      len -= to[i].iov_len;
    }
  return i;
}

static size_t
vector_bytes (const struct iovec *v, int n)
{
  size_t len = 0;

  if (n < 0 || n > IOV_MAX)
    return 0; /* the kernel's to refuse */
  for (int i = 0; i < n; i++)
    len += v[i].iov_len;
  return len;
}

#define PLAIN(name, pointer)                                                  \
  EXPORT ssize_t name (int fd, pointer buf, size_t len)                       \
  {                                                                           \
    struct cut c;                                                             \
    if (!BEGIN (c, #name, fd, fd, len))                                      \
      return -1;                                                              \
    return end (&c, NEXT (name) (fd, buf, c.len), fd, true);                  \
  }

#define AT(name, pointer, offset)                                             \
  EXPORT ssize_t name (int fd, pointer buf, size_t len, offset off)           \
  {                                                                           \
    struct cut c;                                                             \
    if (!BEGIN (c, #name, fd, fd, len))                                      \
      return -1;                                                              \
    return end (&c, NEXT (name) (fd, buf, c.len, off), fd, false);            \
  }

/* PARAMETERS and ARGUMENTS: those behind the vector. */
#define VECTOR(name, moves, parameters, arguments)                            \
  EXPORT ssize_t name (int fd, const struct iovec *iov, int n VECTOR_##parameters) \
  {                                                                           \
    struct iovec v[IOV_MAX];                                                  \
    size_t len = vector_bytes (iov, n);                                       \
    struct cut c;                                                             \
    if (!BEGIN (c, #name, fd, fd, len))                                      \
      return -1;                                                              \
    if (c.len < len)                                                          \
      {                                                                       \
        n = cut_vector (v, iov, n, c.len);                                    \
        iov = v;                                                              \
      }                                                                       \
    return end (&c, NEXT (name) (fd, iov, n VECTOR_##arguments), fd, moves);  \
  }
#define VECTOR_
#define VECTOR_OFF , off_t off
#define VECTOR_OFF64 , off64_t off
#define VECTOR_OFF_FLAGS , off_t off, int flags
#define VECTOR_OFF64_FLAGS , off64_t off, int flags
#define VECTOR_off , off
#define VECTOR_off_flags , off, flags

PLAIN (read, void *)
PLAIN (write, const void *)
AT (pread, void *, off_t)
AT (pread64, void *, off64_t)
AT (pwrite, const void *, off_t)
AT (pwrite64, const void *, off64_t)
VECTOR (readv, true, , )
VECTOR (writev, true, , )
VECTOR (preadv, false, OFF, off)
VECTOR (preadv64, false, OFF64, off)
VECTOR (pwritev, false, OFF, off)
VECTOR (pwritev64, false, OFF64, off)
VECTOR (preadv2, off == -1, OFF_FLAGS, off_flags)
VECTOR (preadv64v2, off == -1, OFF64_FLAGS, off_flags)
VECTOR (pwritev2, off == -1, OFF_FLAGS, off_flags)
VECTOR (pwritev64v2, off == -1, OFF64_FLAGS, off_flags)

/* What read and pread are called when the program was built with
 * _FORTIFY_SOURCE and the compiler knows the size of the buffer. */
EXPORT ssize_t __read_chk (int fd, void *buf, size_t len, size_t size);
EXPORT ssize_t __pread_chk (int fd, void *buf, size_t len, off_t off, size_t size);
EXPORT ssize_t __pread64_chk (int fd, void *buf, size_t len, off64_t off, size_t size);

ssize_t
__read_chk (int fd, void *buf, size_t len, size_t size)
{
  if (len > size)
    abort ();
  return read (fd, buf, len);
}

ssize_t
__pread_chk (int fd, void *buf, size_t len, off_t off, size_t size)
{
  if (len > size)
    abort ();
  return pread (fd, buf, len, off);
}

ssize_t
__pread64_chk (int fd, void *buf, size_t len, off64_t off, size_t size)
{
  if (len > size)
    abort ();
  return pread64 (fd, buf, len, off);
}

EXPORT ssize_t
splice (int in, off64_t *in_off, int out, off64_t *out_off, size_t len, unsigned flags)
{
  struct cut c;

  if (!BEGIN (c, "splice", in, out, len))
    return -1;
  return NEXT (splice) (in, in_off, out, out_off, c.len, flags);
}

EXPORT ssize_t
tee (int in, int out, size_t len, unsigned flags)
{
  struct cut c;

  if (!BEGIN (c, "tee", in, out, len))
    return -1;
  return NEXT (tee) (in, out, c.len, flags);
}

EXPORT ssize_t
vmsplice (int fd, const struct iovec *iov, size_t n, unsigned flags)
{
  struct iovec v[IOV_MAX];
  size_t len = vector_bytes (iov, n <= IOV_MAX ? (int) n : -1);
  struct cut c;

  if (!BEGIN (c, "vmsplice", fd, fd, len))
    return -1;
  if (c.len < len)
    {
      n = (size_t) cut_vector (v, iov, (int) n, c.len);
      iov = v;
    }
  return NEXT (vmsplice) (fd, iov, n, flags);
}

EXPORT ssize_t
copy_file_range (int in, off64_t *in_off, int out, off64_t *out_off, size_t len, unsigned flags)
{
  struct cut c;

  if (!BEGIN (c, "copy_file_range", in, out, len))
    return -1;
  return NEXT (copy_file_range) (in, in_off, out, out_off, c.len, flags);
}

EXPORT ssize_t
sendfile (int out, int in, off_t *off, size_t len)
{
  struct cut c;

  if (!BEGIN (c, "sendfile", in, out, len))
    return -1;
  return NEXT (sendfile) (out, in, off, c.len);
}

EXPORT ssize_t
sendfile64 (int out, int in, off64_t *off, size_t len)
{
  struct cut c;

  if (!BEGIN (c, "sendfile64", in, out, len))
    return -1;
  return NEXT (sendfile64) (out, in, off, c.len);
}
