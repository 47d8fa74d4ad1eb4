/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * witness.c - head and tail of a stream; see witness.h.
 */
#include <config.h>

#include "iohelper/witness.h"

#include "iohelper/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
ioh_witness_init (struct ioh_witness *witness, int read_back_fd, uint64_t read_back_start)
{
  *witness = (struct ioh_witness) {
    .read_back_fd = read_back_fd,
    .read_back_start = read_back_start,
    .keep_tail = read_back_fd < 0,
  };
  witness->head = malloc (IOH_EVIDENCE_HEAD);
  if (!witness->head)
    return -ENOMEM;
  return 0;
}

void
ioh_witness_free (struct ioh_witness *witness)
{
  free (witness->head);
  free (witness->ring);
  witness->head = witness->ring = NULL;
}

static void
keep_head (struct ioh_witness *witness, const unsigned char *buf, size_t len)
{
  size_t room = IOH_EVIDENCE_HEAD - witness->head_len;

  if (len > room)
    len = room;
  memcpy (witness->head + witness->head_len, buf, len);
  witness->head_len += len;
}

static void
keep_tail (struct ioh_witness *witness, const unsigned char *buf, size_t len)
{
  uint64_t at = witness->total;

  if (!witness->ring)
    witness->ring = malloc (IOH_EVIDENCE_TAIL);
  if (!witness->ring)
    {
      witness->keep_tail = false; /* the check will say that it cannot look */
      return;
    }
  if (len > IOH_EVIDENCE_TAIL)
    {
      size_t skip = len - IOH_EVIDENCE_TAIL;
      buf += skip;
      at += skip;
      len = IOH_EVIDENCE_TAIL;
    }
  while (len > 0)
    {
      size_t pos = (size_t) (at % IOH_EVIDENCE_TAIL), n = IOH_EVIDENCE_TAIL - pos;
      if (n > len)
        n = len;
      memcpy (witness->ring + pos, buf, n);
      buf += n;
      at += n;
      len -= n;
    }
}

void
ioh_witness_see (struct ioh_witness *witness, const void *buf, size_t len)
{
  if (witness->head_len < IOH_EVIDENCE_HEAD)
    keep_head (witness, buf, len);
  if (witness->keep_tail)
    {
      keep_tail (witness, buf, len);
      /* No known beginning, so no end to look for. */
      if (witness->head_len >= IOH_EVIDENCE_MAGIC
          && ioh_format_of (witness->head, witness->head_len) == IOH_FORMAT_UNKNOWN)
        witness->keep_tail = false;
    }
  witness->total += len;
}

static ssize_t
read_back (struct ioh_witness *witness, unsigned char *buf, size_t len, uint64_t off)
{
  size_t have = 0;

  while (have < len)
    {
      ssize_t n = ioh_read (witness->read_back_fd, buf + have, len - have, true,
                            witness->read_back_start + off + have);
      if (n < 0)
        return n;
      if (n == 0)
        break;
      have += (size_t) n;
    }
  return (ssize_t) have;
}

ssize_t
ioh_witness_read_at (void *ctx, void *buf, size_t len, uint64_t off)
{
  struct ioh_witness *witness = ctx;
  unsigned char *out = buf;

  if (off > witness->total)
    return -ENODATA;
  if (len > witness->total - off)
    len = (size_t) (witness->total - off);
  if (off + len <= witness->head_len)
    {
      memcpy (out, witness->head + off, len);
      return (ssize_t) len;
    }
  if (witness->read_back_fd >= 0)
    return read_back (witness, out, len, off);
  if (!witness->ring || !witness->keep_tail || witness->total - off > IOH_EVIDENCE_TAIL)
    return -ENODATA;
  for (size_t i = 0; i < len; i++)
    out[i] = witness->ring[(off + i) % IOH_EVIDENCE_TAIL];
  return (ssize_t) len;
}
