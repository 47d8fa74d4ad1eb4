/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * evidence-qemu.c - the end of a QEMU migration stream.
 *
 * A stream ends in QEMU_VM_EOF (one byte, 0), after which QEMU since 2.3 adds
 * QEMU_VM_VMDESCRIPTION (6), a big-endian length, and a JSON object of just
 * that length.  With -machine suppress-vmdesc=on the 0 is the last byte, and
 * before it stands the last section's footer: 0x7e and a big-endian id.
 *
 * How sure that is: a cut in the middle of the JSON fails its length.  A cut
 * elsewhere passes only where guest data happen to hold a description whose
 * length reaches to the cut, or a 7e 00 00 xx xx 00 just before it: for data
 * like random bytes 1 in 2^40 cuts or fewer.  Inside the stream itself a
 * footer is followed by a section's type, 1 to 8, never by 0.
 */
#include <config.h>

#include "iohelper/evidence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define VM_EOF 0x00
#define VM_DESCRIPTION 0x06
#define SECTION_FOOTER 0x7e
#define HEADER 8  /* magic and version */
#define BEFORE 6  /* EOF, type, length of the description */
#define FOOTER 6  /* footer, id, EOF */
#define FIRST_LOOK ((size_t) 64 << 10)

static uint32_t
be32 (const unsigned char *p)
{
  return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

/* A description in the LEN bytes of TAIL that ends with them. */
static bool
ends_in_description (const unsigned char *tail, size_t len)
{
  if (len < BEFORE + 2 || tail[len - 1] != '}')
    return false;
  for (size_t i = len - 2 - BEFORE + 1; i-- > 0;)
    if (tail[i] == VM_EOF && tail[i + 1] == VM_DESCRIPTION && tail[i + BEFORE] == '{'
        && be32 (tail + i + 2) == len - i - BEFORE)
      return true;
  return false;
}

static bool
ends_in_footer (const unsigned char *tail, size_t len)
{
  return len >= FOOTER && tail[len - 1] == VM_EOF && tail[len - FOOTER] == SECTION_FOOTER
         && be32 (tail + len - 5) < 65536;
}

int
ioh_evidence_qemu (const struct ioh_stream *s, uint64_t start, struct ioh_verdict *v)
{
  uint64_t body = s->total > start + HEADER ? s->total - start - HEADER : 0;
  unsigned char *tail;
  bool found = false;
  size_t len;
  int r = 0;

  /* Most descriptions take 10 to 100 KiB; all of the tail only if need be. */
  for (len = FIRST_LOOK; !found; len *= 8)
    {
      if (len > IOH_EVIDENCE_TAIL)
        len = IOH_EVIDENCE_TAIL;
      if (len > body)
        len = (size_t) body;
      tail = malloc (len + 1);
      if (!tail)
        return -ENOMEM;
      r = ioh_stream_get (s, tail, len, s->total - len);
      found = r == 0 && (ends_in_footer (tail, len) || ends_in_description (tail, len));
      free (tail);
      if (r < 0 || len == body || len == IOH_EVIDENCE_TAIL)
        break;
    }
  if (r < 0)
    return r;
  v->whole = v->proven = found;
  if (!found)
    snprintf (v->why, sizeof v->why,
              "a QEMU stream that stops at %llu bytes without its end-of-stream section",
              (unsigned long long) s->total);
  return 0;
}
