/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * evidence-libvirt.c - a libvirt save image: a header of 92 bytes, the
 * domain's XML, and what QEMU wrote, compressed or not.
 *
 * While the image is written its magic ends in "Part"; libvirt makes that
 * "Save" once the helper is done, so both are right here.
 */
#include <config.h>

#include "iohelper/evidence.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HEADER 92
#define VERSION_AT 16
#define DATA_LEN_AT 20
#define COMPRESSED_AT 28

/* The XML of a large domain has some 100 KiB; no image has this much, and a
 * number this large is no length. */
#define XML_MAX (UINT32_C (256) << 20)

/* Numbers are in the writer's own order; a version is small in the right one. */
static uint32_t
get32 (const unsigned char *p, bool swap)
{
  uint32_t value;

  memcpy (&value, p, sizeof value);
  return swap ? __builtin_bswap32 (value) : value;
}

/* Where QEMU's own stream begins, 0 with a verdict if there is none to judge. */
static uint64_t
find_stream (const struct ioh_stream *s, struct ioh_verdict *v)
{
  bool swap = get32 (s->head + VERSION_AT, false) > 0xffff;
  uint32_t version = get32 (s->head + VERSION_AT, swap);
  uint32_t xml = get32 (s->head + DATA_LEN_AT, swap);
  uint64_t start = HEADER + (uint64_t) xml;

  if (version > 0xffff)
    snprintf (v->why, sizeof v->why, "a libvirt image whose header is damaged: version %lu",
              (unsigned long) version);
  else if (xml == 0 || xml > XML_MAX)
    snprintf (v->why, sizeof v->why,
              "a libvirt image whose header is damaged: it gives the XML %lu bytes",
              (unsigned long) xml);
  else if (start >= s->total)
    snprintf (v->why, sizeof v->why,
              "a libvirt image of %llu bytes, whose header and XML alone take %llu",
              (unsigned long long) s->total, (unsigned long long) start);
  else if (get32 (s->head + COMPRESSED_AT, swap) != 0)
    v->whole = true; /* a compressor's end, and a sparse image's, is not ours to know */
  else
    return start;
  return 0;
}

int
ioh_evidence_libvirt (const struct ioh_stream *s, struct ioh_verdict *v)
{
  unsigned char magic[4];
  uint64_t start;
  int r;

  if (s->head_len < HEADER)
    {
      snprintf (v->why, sizeof v->why, "a libvirt image that stops inside its header");
      return 0;
    }
  start = find_stream (s, v);
  if (start == 0)
    return 0;
  /* Where an XML is so long that this was not kept, the end has to do. */
  r = ioh_stream_get (s, magic, sizeof magic, start);
  if (r < 0 && r != -ENODATA)
    return r;
  if (r == 0 && memcmp (magic, "QEVM", sizeof magic) != 0)
    {
      snprintf (v->why, sizeof v->why, "a libvirt image without a QEMU stream at byte %llu",
                (unsigned long long) start);
      return 0;
    }
  return ioh_evidence_qemu (s, start, v);
}
