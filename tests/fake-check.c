/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-check.c - the consumer: reads a stream as a restoring hypervisor would,
 * compares each byte and the length with what they have to be, and may stop
 * reading, leave or die at an offset.
 *
 * Invariant: it never takes a byte beyond that offset.
 */
#include <config.h>

#include "tests/fake-vm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t
read_some (int fd, void *buf, size_t len)
{
  for (;;)
    {
      ssize_t n = read (fd, buf, len);

      if (n >= 0)
        return n;
      if (errno == EAGAIN)
        {
          struct pollfd wait = { .fd = fd, .events = POLLIN };
          poll (&wait, 1, -1);
        }
      else if (errno != EINTR)
        return -1;
    }
}

static int
differs (uint64_t off, const unsigned char *got, const unsigned char *want)
{
  size_t i = 0;

  while (got[i] == want[i])
    i++;
  printf ("fake-vm: first wrong byte at offset %" PRIu64 ": got 0x%02x want 0x%02x\n", off + i, got[i], want[i]);
  return FAKE_DIFFERS;
}

/* LENGTH: bytes that the stream has to have. */
static int
compare (const struct fake_stream *s, const struct fake_request *rq, int fd, uint64_t length, unsigned char *got,
         unsigned char *want)
{
  bool leaves = rq->ending != FAKE_END_NONE && rq->ending != FAKE_END_STOP;
  uint64_t off = 0, stall_off = rq->stall_off;
  struct timespec start;

  clock_gettime (CLOCK_MONOTONIC, &start);
  for (;;)
    {
      uint64_t n = rq->read_bytes;

      if (off == stall_off)
        {
          stall_off = FAKE_NEVER;
          if (!fake_stall (fd, rq->stall_ms))
            {
              fprintf (stderr, "fake-vm: writer left at offset %" PRIu64 "\n", off);
              return FAKE_PEER_LEFT;
            }
        }
      if (leaves && off == rq->end_off)
        return fake_end (rq);
      if (leaves && n > rq->end_off - off)
        n = rq->end_off - off;
      if (stall_off > off && n > stall_off - off)
        n = stall_off - off;

      ssize_t r = read_some (fd, got, (size_t) n);
      if (r < 0)
        {
          fprintf (stderr, "fake-vm: reading at offset %" PRIu64 ": %s\n", off, strerror (errno));
          return FAKE_IO_ERROR;
        }
      if (r == 0)
        break;
      size_t have = (size_t) r, known = have < length - off ? have : (size_t) (length - off);
      fake_stream_fill (s, off, want, known);
      if (memcmp (got, want, known) != 0)
        return differs (off, got, want);
      if (known < have)
        {
          printf ("fake-vm: long: wanted %" PRIu64 " bytes, and there are more\n", length);
          return FAKE_DIFFERS;
        }
      off += have;
      if (rq->pace)
        fake_pace (&start, off, rq->pace);
    }
  if (off < length)
    {
      printf ("fake-vm: short: ended at %" PRIu64 ", wanted %" PRIu64 "\n", off, length);
      return FAKE_DIFFERS;
    }
  printf ("fake-vm: ok %" PRIu64 " bytes\n", off);
  return FAKE_OK;
}

int
fake_check (const struct fake_stream *s, const struct fake_request *rq)
{
  unsigned char *got = malloc ((size_t) rq->read_bytes), *want = malloc ((size_t) rq->read_bytes);
  int fd = STDIN_FILENO, status = FAKE_IO_ERROR;

  if (rq->file)
    fd = open (rq->file, O_RDONLY | O_CLOEXEC);
  if (!got || !want)
    fprintf (stderr, "fake-vm: out of memory: two times %" PRIu64 " bytes are needed\n", rq->read_bytes);
  else if (fd < 0)
    fprintf (stderr, "fake-vm: opening '%s': %s\n", rq->file, strerror (errno));
  else
    status = compare (s, rq, fd, rq->ending == FAKE_END_STOP ? rq->end_off : s->spec.size, got, want);
  free (got);
  free (want);
  if (fd >= 0)
    close (fd);
  return status;
}
