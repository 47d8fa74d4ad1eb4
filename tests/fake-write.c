/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-write.c - the producer: writes a stream to stdout in the portions of a
 * hypervisor or in others, up to the offset where it is told to misbehave.
 *
 * Invariant: it misbehaves when exactly that many bytes were accepted.
 */
#include <config.h>

#include "tests/fake-vm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* migration/qemu-file.c: at most 64 iovecs and 32 KiB of copied bytes are
 * gathered for one writev.  Pairs of an 8-byte header and a page that is
 * referred to make 131328 bytes. */
#define QEMU_IOVECS 64
#define QEMU_BUFFER_BYTES 32768
#define QEMU_WRITE_MAX (QEMU_BUFFER_BYTES + QEMU_IOVECS * FAKE_PAGE_BYTES)

#define RANDOM_CHUNK_MAX (256u << 10)
#define PLAIN_CHUNK_BYTES (64u << 10)

struct producer
{
  const struct fake_stream *s;
  const struct fake_request *rq;
  enum fake_chunking chunking;
  size_t chunk_bytes;
  unsigned char *mem; /* preloaded: all of the stream, else one portion */
  uint64_t random;
  uint64_t off; /* bytes accepted by stdout */
  struct iovec iov[QEMU_IOVECS];
  int n_iov;
};

/* The iovecs of the writev that QEMU would make at p->off; their sizes only. */
static size_t
plan_qemu (struct producer *p)
{
  uint64_t off = p->off, size = p->s->spec.size;
  size_t buffered = 0;
  bool last_is_buffer = false, flush = false;

  p->n_iov = 0;
  while (off < size && !flush && p->n_iov < QEMU_IOVECS && buffered < QEMU_BUFFER_BYTES)
    {
      struct fake_piece piece = fake_stream_piece (p->s, off);
      size_t n = piece.len;

      if (!piece.by_reference && n > QEMU_BUFFER_BYTES - buffered)
        n = QEMU_BUFFER_BYTES - buffered;
      if (!piece.by_reference && last_is_buffer)
        p->iov[p->n_iov - 1].iov_len += n;
      else
        p->iov[p->n_iov++].iov_len = n;
      if (!piece.by_reference)
        buffered += n;
      last_is_buffer = !piece.by_reference;
      flush = piece.flush && n == piece.len;
      off += n;
    }
  return (size_t) (off - p->off);
}

static size_t
plan_flat (struct producer *p)
{
  uint64_t n = p->chunk_bytes;

  if (p->chunking == FAKE_CHUNK_RANDOM)
    {
      p->random ^= p->random << 13; /* xorshift64: never 0 */
      p->random ^= p->random >> 7;
      p->random ^= p->random << 17;
      n = 1 + (p->random >> 32) % RANDOM_CHUNK_MAX;
    }
  if (n > p->s->spec.size - p->off)
    n = p->s->spec.size - p->off;
  p->iov[0].iov_len = (size_t) n;
  p->n_iov = 1;
  return (size_t) n;
}

/* Cuts the plan to LEN bytes and says where its bytes are. */
static void
place (struct producer *p, size_t len)
{
  unsigned char *at = p->mem;
  int i = 0;

  if (p->rq->preload)
    at += p->off;
  else
    fake_stream_fill (p->s, p->off, at, len);
  for (; i < p->n_iov && len > 0; i++)
    {
      if (p->iov[i].iov_len > len)
        p->iov[i].iov_len = len;
      p->iov[i].iov_base = at;
      at += p->iov[i].iov_len;
      len -= p->iov[i].iov_len;
    }
  p->n_iov = i;
}

static int
send_all (struct producer *p)
{
  struct iovec *v = p->iov, *end = v + p->n_iov;

  while (v < end)
    {
      ssize_t n = writev (STDOUT_FILENO, v, (int) (end - v));

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EAGAIN)
        {
          struct pollfd wait = { .fd = STDOUT_FILENO, .events = POLLOUT };
          poll (&wait, 1, -1);
          continue;
        }
      if (n < 0 && errno == EPIPE)
        {
          fprintf (stderr, "fake-vm: reader left at offset %" PRIu64 "\n", p->off);
          return FAKE_PEER_LEFT;
        }
      if (n <= 0)
        {
          fprintf (stderr, "fake-vm: writing at offset %" PRIu64 ": %s\n", p->off, strerror (n < 0 ? errno : EIO));
          return FAKE_IO_ERROR;
        }
      p->off += (uint64_t) n;
      for (; v < end && (size_t) n >= v->iov_len; v++)
        n -= (ssize_t) v->iov_len;
      if (v < end)
        {
          v->iov_base = (unsigned char *) v->iov_base + n;
          v->iov_len -= (size_t) n;
        }
    }
  return FAKE_OK;
}

static int
run (struct producer *p, const struct timespec *start)
{
  const struct fake_request *rq = p->rq;
  uint64_t stall_off = rq->stall_off;

  for (;;)
    {
      if (p->off == stall_off)
        {
          stall_off = FAKE_NEVER;
          if (!fake_stall (STDOUT_FILENO, rq->stall_ms))
            {
              fprintf (stderr, "fake-vm: reader left at offset %" PRIu64 "\n", p->off);
              return FAKE_PEER_LEFT;
            }
        }
      if (rq->ending != FAKE_END_NONE && p->off == rq->end_off)
        return fake_end (rq);
      if (p->off == p->s->spec.size)
        return FAKE_OK;

      size_t len = p->chunking == FAKE_CHUNK_QEMU ? plan_qemu (p) : plan_flat (p);
      if (rq->ending != FAKE_END_NONE && len > rq->end_off - p->off)
        len = (size_t) (rq->end_off - p->off);
      if (stall_off > p->off && len > stall_off - p->off)
        len = (size_t) (stall_off - p->off);
      place (p, len);
      int status = send_all (p);
      if (status != FAKE_OK)
        return status;
      if (rq->pace)
        fake_pace (start, p->off, rq->pace);
    }
}

int
fake_write (const struct fake_stream *s, const struct fake_request *rq)
{
  struct producer p = { .s = s, .rq = rq, .chunking = rq->chunking };
  uint64_t mem_bytes = s->spec.size;
  struct timespec start;
  int flags, status;

  if (p.chunking == FAKE_CHUNK_DEFAULT)
    p.chunking = s->spec.kind == FAKE_PLAIN ? FAKE_CHUNK_FIXED : FAKE_CHUNK_QEMU;
  p.chunk_bytes = (size_t) (rq->chunk_bytes ? rq->chunk_bytes : PLAIN_CHUNK_BYTES);
  p.random = s->key | 1;
  if (!rq->preload)
    mem_bytes = p.chunking == FAKE_CHUNK_QEMU     ? QEMU_WRITE_MAX
                : p.chunking == FAKE_CHUNK_RANDOM ? RANDOM_CHUNK_MAX
                                                  : p.chunk_bytes;
  p.mem = mem_bytes <= SIZE_MAX - 1 ? malloc ((size_t) mem_bytes + 1) : NULL;
  if (!p.mem)
    {
      fprintf (stderr, "fake-vm: out of memory: %" PRIu64 " bytes are needed\n", mem_bytes);
      return FAKE_IO_ERROR;
    }
  if (rq->preload)
    fake_stream_fill (s, 0, p.mem, (size_t) s->spec.size);

  signal (SIGPIPE, SIG_IGN);
  flags = fcntl (STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (rq->nonblock && fcntl (STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) < 0))
    {
      fprintf (stderr, "fake-vm: stdout: %s\n", strerror (errno));
      free (p.mem);
      return FAKE_IO_ERROR;
    }
  clock_gettime (CLOCK_MONOTONIC, &start);
  status = run (&p, &start);
  free (p.mem);
  if (rq->nonblock)
    fcntl (STDOUT_FILENO, F_SETFL, flags); /* others may share it */
  if (close (STDOUT_FILENO) < 0 && status == FAKE_OK)
    {
      fprintf (stderr, "fake-vm: closing: %s\n", strerror (errno));
      return FAKE_IO_ERROR;
    }
  return status;
}
