/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * evidence-stream.h - builds small streams for the tests of the evidence, and
 * has them judged.
 *
 * Owner: each test program has one stream, in static storage.  Invariant: the
 * reader counts as a stray what it is asked for outside the first and the last
 * bytes, and the head is a block of its own, so that a sanitizer sees a step
 * beyond it.
 */
#ifndef TESTS_EVIDENCE_STREAM_H
#define TESTS_EVIDENCE_STREAM_H

#include "iohelper/evidence.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_MAX ((size_t) 12 << 20)

static unsigned char stream[STREAM_MAX];
static size_t used;
static int reader_errno;
static unsigned strays;

static inline ssize_t
read_at (void *ctx, void *buf, size_t len, uint64_t off)
{
  uint64_t total = *(uint64_t *) ctx;

  if (reader_errno)
    return -reader_errno;
  if (off > total || len > total - off
      || (off + len > IOH_EVIDENCE_HEAD && total - off > IOH_EVIDENCE_TAIL))
    {
      strays++;
      return -ENODATA;
    }
  memcpy (buf, stream + off, len);
  return (ssize_t) len;
}

/* Judges the first TOTAL bytes. */
static inline struct ioh_verdict
judge (enum ioh_require require, uint64_t total, int *ret_error)
{
  size_t n = total < IOH_EVIDENCE_HEAD ? (size_t) total : IOH_EVIDENCE_HEAD;
  unsigned char *head = malloc (n + !n);
  struct ioh_verdict v = { .format = IOH_FORMAT_UNKNOWN };
  int e;

  if (!head)
    bail_out ("out of memory");
  memcpy (head, stream, n);
  e = ioh_evidence_check (require, head, n, total, read_at, &total, &v);
  free (head);
  if (ret_error)
    *ret_error = e;
  else if (e < 0)
    bail_out ("the check fails with %d", e);
  return v;
}

/* "proven", "undecided", "whole" (by its end of file), or "cut". */
static inline const char *
verdict (enum ioh_require require)
{
  struct ioh_verdict v = judge (require, used, NULL);

  return !v.whole ? "cut" : v.proven ? "proven" : v.undecided ? "undecided" : "whole";
}

/* How many proper beginnings of the stream, of FROM bytes or more, pass. */
static inline unsigned
cuts_taken (size_t from)
{
  unsigned taken = 0;

  for (size_t n = from; n < used; n++)
    taken += judge (IOH_REQUIRE_AUTO, n, NULL).whole;
  return taken;
}

/* ---- building blocks ------------------------------------------------------ */

static inline void
put (const void *bytes, size_t len)
{
  if (len > STREAM_MAX - used)
    bail_out ("the test's stream is too small");
  memcpy (stream + used, bytes, len);
  used += len;
}

static inline void
put_number (uint64_t value, unsigned size, bool big)
{
  unsigned char p[8];

  for (unsigned i = 0; i < size; i++)
    p[big ? size - 1 - i : i] = (unsigned char) (value >> 8 * i);
  put (p, size);
}

static inline void
put_fill (size_t len, unsigned char byte)
{
  while (len-- > 0)
    put (&byte, 1);
}

/* A device's section up to its footer; LEN bytes of data. */
static inline void
put_section (unsigned id, const char *name, size_t len)
{
  put_number (4, 1, true);
  put_number (id, 4, true);
  put_number (strlen (name), 1, true);
  put (name, strlen (name));
  put_number (0, 4, true);
  put_number (1, 4, true);
  put_fill (len, 0);
  put_number (0x7e, 1, true);
  put_number (id, 4, true);
}

/* Magic to the last page of memory. */
static inline void
begin_qemu (unsigned version, bool configuration)
{
  put ("QEVM", 4);
  put_number (version, 4, true);
  if (configuration)
    put ("\7\0\0\0\2pc", 7);
  put ("\1\0\0\0\2\3ram\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\20\176\0\0\0\2", 31);
}

static inline void
put_description (const char *text, size_t padding)
{
  put ("\6", 1);
  put_number (strlen (text) + padding + 1, 4, true);
  put (text, strlen (text));
  put_fill (padding, ' ');
  put ("}", 1);
}

#define DESCRIPTION "{\"page_size\": 4096, \"devices\": [{\"name\": \"}]\\\"\"}]"

static inline void
make_qemu (size_t padding)
{
  used = 0;
  begin_qemu (3, true);
  put_section (1, "timer", 24);
  put_section (4, "globalstate", 100);
  put ("\0", 1);
  if (padding != SIZE_MAX)
    put_description (DESCRIPTION, padding);
}

/* A stream without a description whose last section has LEN bytes of data. */
static inline void
make_section (size_t len)
{
  used = 0;
  begin_qemu (3, true);
  put_section (9, "gpu", len);
  put ("\0", 1);
}

/* xorshift, so that a failure repeats */
static inline uint32_t
draw (void)
{
  static uint32_t x = 0x9e3779b9;

  x ^= x << 13;
  x ^= x >> 17;
  return x ^= x << 5;
}

#endif
