/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-qemu.c - a migration stream as QEMU 7.2 sends it (version 3, plain RAM).
 *
 * head   magic, configuration, RAM set-up, a first section of zero pages
 * body   RAM part sections: groups of 48 pages sent whole and 16 zero pages
 * tail   the last RAM section, device sections, end mark, JSON description
 *
 * Owner: tests/fake-stream.c.  Invariant: all parts but one device's blob have
 * sizes in steps; the blob takes up what is left, so every total is reached.
 */
#include <config.h>

#include "tests/fake-build.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
  SECTION_EOF = 0x00,
  SECTION_START = 0x01,
  SECTION_PART = 0x02,
  SECTION_END = 0x03,
  SECTION_FULL = 0x04,
  SECTION_VMDESC = 0x06,
  SECTION_CONFIG = 0x07,
  SECTION_FOOTER = 0x7e,

  RAM_ZERO = 0x02,
  RAM_SIZES = 0x04,
  RAM_PAGE = 0x08,
  RAM_EOS = 0x10,
  RAM_CONTINUE = 0x20 /* same block as the record before: no name */
};

#define RAM_ID 2u
#define HEAD_PAGES 16u /* zero pages in the head */
#define ROM_PAGES 32u  /* zero pages in the last section */
#define VMDESC_BYTES 98000u /* a PC's has about as much */

#define WHOLE_BYTES (8u + FAKE_PAGE_BYTES)
#define ZERO_BYTES 9u
#define GROUP_WHOLE 48u
#define GROUP_PAGES 64u
#define GROUP_WHOLE_BYTES (GROUP_WHOLE * WHOLE_BYTES)
#define GROUP_BYTES (GROUP_WHOLE_BYTES + (GROUP_PAGES - GROUP_WHOLE) * ZERO_BYTES)

#define SECTION_GROUPS 64u
#define SECTION_PAGES (SECTION_GROUPS * GROUP_PAGES)
#define RECORDS_BYTES ((uint64_t) SECTION_GROUPS * GROUP_BYTES)
#define HEADER_BYTES 5u
#define EOS_BYTES 8u
#define FOOTER_BYTES 5u
#define FRAME_BYTES (HEADER_BYTES + EOS_BYTES + FOOTER_BYTES)
#define SECTION_BYTES (RECORDS_BYTES + FRAME_BYTES)

static const struct device
{
  const char *name;
  unsigned version, bytes;
} devices[] = {
  { "timer", 2, 24 },
  { "cpu_common", 1, 8 },
  { "cpu", 12, 311 },
  { "kvmclock", 1, 8 },
  { "0000:00:00.0/I440FX", 3, 269 },
  { "PCIHost", 1, 4 },
  { "0000:00:02.0/vga", 2, 0 }, /* BLOB: takes up what is left */
  { "globalstate", 1, 104 },
};
#define N_DEVICES (sizeof devices / sizeof devices[0])
#define BLOB 6

static uint64_t
min_u64 (uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

static void
put_name (struct fake_bytes *b, const char *name)
{
  fake_put_u8 (b, (unsigned) strlen (name));
  fake_put_text (b, name);
}

static void
put_section (struct fake_bytes *b, unsigned type, uint32_t id)
{
  fake_put_u8 (b, type);
  fake_put_be32 (b, id);
}

static void
put_named_section (struct fake_bytes *b, unsigned type, uint32_t id, const char *name, uint32_t version)
{
  put_section (b, type, id);
  put_name (b, name);
  fake_put_be32 (b, 0); /* instance */
  fake_put_be32 (b, version);
}

static void
put_zero_pages (struct fake_bytes *b, const char *block, unsigned pages)
{
  fake_put_be64 (b, RAM_ZERO);
  put_name (b, block);
  fake_put_u8 (b, 0);
  for (unsigned i = 1; i < pages; i++)
    {
      fake_put_be64 (b, (uint64_t) i * FAKE_PAGE_BYTES | RAM_ZERO | RAM_CONTINUE);
      fake_put_u8 (b, 0);
    }
}

static void
put_head (struct fake_stream *s, struct fake_bytes *b, uint64_t ram_bytes)
{
  static const char machine[] = "pc-i440fx-7.2";

  fake_put_text (b, "QEVM");
  fake_put_be32 (b, 3);
  fake_put_u8 (b, SECTION_CONFIG);
  fake_put_be32 (b, sizeof machine - 1);
  fake_put_text (b, machine);

  put_named_section (b, SECTION_START, RAM_ID, "ram", 4);
  fake_put_be64 (b, (ram_bytes + ROM_PAGES * FAKE_PAGE_BYTES) | RAM_SIZES);
  put_name (b, "pc.ram");
  fake_put_be64 (b, ram_bytes);
  put_name (b, "pc.rom");
  fake_put_be64 (b, ROM_PAGES * FAKE_PAGE_BYTES);
  fake_put_be64 (b, RAM_EOS);
  fake_mark (s, b->len); /* QEMU flushes behind the end of a RAM section, */
  put_section (b, SECTION_FOOTER, RAM_ID); /* so the footer is in the next write */

  put_section (b, SECTION_PART, RAM_ID);
  put_zero_pages (b, "pc.ram", HEAD_PAGES);
  fake_put_be64 (b, RAM_EOS);
  fake_mark (s, b->len);
  put_section (b, SECTION_FOOTER, RAM_ID);
}

static void
put_devices (struct fake_bytes *b, uint64_t key, size_t blob)
{
  put_section (b, SECTION_END, RAM_ID);
  put_zero_pages (b, "pc.rom", ROM_PAGES);
  fake_put_be64 (b, RAM_EOS);
  put_section (b, SECTION_FOOTER, RAM_ID);
  for (unsigned i = 0; i < N_DEVICES; i++)
    {
      uint32_t id = RAM_ID + 1 + i;

      put_named_section (b, SECTION_FULL, id, devices[i].name, devices[i].version);
      fake_put_words (b, key + id, i == BLOB ? blob : devices[i].bytes);
      put_section (b, SECTION_FOOTER, id);
    }
  fake_put_u8 (b, SECTION_EOF);
}

/* WANTED: about how long.  What it says of each section is true; the number
 * has a fixed width, so the length is known before the number is. */
static void
put_vmdesc (struct fake_bytes *b, size_t wanted, size_t blob)
{
  struct fake_bytes json = { 0 };
  size_t state, registers = 0, number_at;
  char number[16];

  fake_put_text (&json, "{\"page_size\": 4096, \"devices\": [");
  for (unsigned i = 0; i < N_DEVICES; i++)
    {
      fake_put_format (&json,
                       "%s{\"name\": \"%s\", \"instance_id\": 0, \"vmsd_name\": \"%s\", \"version\": %u, "
                       "\"fields\": [{\"name\": \"state\", \"type\": \"buffer\", \"size\": ",
                       i ? ", " : "", devices[i].name, devices[i].name, devices[i].version);
      number_at = json.len;
      fake_put_format (&json, "%10u}", devices[i].bytes);
      for (; i == BLOB && json.len < wanted; registers++)
        fake_put_format (&json, ", {\"name\": \"r%zu\", \"type\": \"uint8\", \"size\": 1}", registers);
      if (i == BLOB)
        {
          state = blob - registers;
          snprintf (number, sizeof number, "%10zu", state);
          memcpy (json.ptr + number_at, number, 10);
        }
      fake_put_text (&json, "]}");
    }
  fake_put_text (&json, "]}");
  fake_put_u8 (b, SECTION_VMDESC);
  fake_put_be32 (b, (uint32_t) json.len);
  fake_put (b, json.ptr, json.len);
  free (json.ptr);
}

/* The longest body that fits into ROOM bytes, and how many pages it sends. */
static uint64_t
fit_body (uint64_t room, uint64_t *pages)
{
  uint64_t sections = room / SECTION_BYTES, rest = room % SECTION_BYTES;
  uint64_t groups, last, whole;

  *pages = sections * SECTION_PAGES;
  if (rest < FRAME_BYTES + WHOLE_BYTES)
    return sections * SECTION_BYTES;
  rest -= FRAME_BYTES;
  groups = rest / GROUP_BYTES;
  last = rest % GROUP_BYTES;
  whole = min_u64 (last / WHOLE_BYTES, GROUP_WHOLE);
  *pages += groups * GROUP_PAGES + whole;
  return sections * SECTION_BYTES + FRAME_BYTES + groups * GROUP_BYTES + whole * WHOLE_BYTES;
}

static void
put_tail (struct fake_stream *s, struct fake_bytes *b, size_t blob, size_t vmdesc_bytes)
{
  put_devices (b, s->key, blob);
  if (!s->spec.no_vmdesc)
    put_vmdesc (b, vmdesc_bytes, blob);
}

bool
fake_qemu_build (struct fake_stream *s, struct fake_bytes *head, struct fake_bytes *tail, uint64_t *least)
{
  const size_t vmdesc_bytes = (size_t) min_u64 (s->spec.size / 64, VMDESC_BYTES);
  const size_t blob = vmdesc_bytes / 4; /* no less than it has registers in there */
  const size_t head_at = head->len;
  const unsigned marks = s->n_marks;
  uint64_t pages, ram_bytes;

  put_head (s, head, 0);
  put_tail (s, tail, blob, vmdesc_bytes);
  *least = head->len + tail->len;
  if (s->spec.size < *least)
    return false;

  s->body = FAKE_BODY_RAM;
  s->body_len = fit_body (s->spec.size - *least, &pages);
  ram_bytes = (HEAD_PAGES + pages) * FAKE_PAGE_BYTES;
  ram_bytes = (ram_bytes + (1u << 20) - 1) >> 20 << 20; /* whole MiB, as guests have */

  head->len = head_at;
  s->n_marks = marks;
  put_head (s, head, ram_bytes);
  tail->len = 0;
  put_tail (s, tail, blob + (size_t) (s->spec.size - *least - s->body_len), vmdesc_bytes);
  return true;
}

/* LEN bytes at AT of a record or frame of SIZE bytes held in DATA. */
static void
copy_part (unsigned char *buf, size_t len, const unsigned char *data, size_t size, size_t at)
{
  if (buf)
    memcpy (buf, data + at, min_u64 (len, size - at));
}

static struct fake_piece
frame_piece (uint64_t at, bool footer, unsigned char *buf, size_t len)
{
  unsigned char bytes[EOS_BYTES + FOOTER_BYTES] = { 0 };
  struct fake_piece p = { 0 };

  if (!footer)
    {
      bytes[0] = SECTION_PART;
      bytes[4] = RAM_ID;
      p.len = HEADER_BYTES - at;
      copy_part (buf, len, bytes, HEADER_BYTES, at);
      return p;
    }
  bytes[7] = RAM_EOS;
  bytes[8] = SECTION_FOOTER;
  bytes[12] = RAM_ID;
  p.flush = at < EOS_BYTES;
  p.len = (p.flush ? EOS_BYTES : sizeof bytes) - at;
  copy_part (buf, len < p.len ? len : p.len, bytes, sizeof bytes, at);
  return p;
}

struct fake_piece
fake_ram_piece (const struct fake_stream *s, uint64_t off, unsigned char *buf, size_t len)
{
  uint64_t section = off / SECTION_BYTES, at = off % SECTION_BYTES;
  uint64_t records = min_u64 (SECTION_BYTES, s->body_len - section * SECTION_BYTES) - FRAME_BYTES;
  uint64_t group, page, header;
  unsigned char record[ZERO_BYTES] = { 0 };
  struct fake_piece p = { 0 };
  bool whole;

  if (at < HEADER_BYTES)
    return frame_piece (at, false, buf, len);
  at -= HEADER_BYTES;
  if (at >= records)
    return frame_piece (at - records, true, buf, len);

  group = at / GROUP_BYTES;
  at %= GROUP_BYTES;
  page = HEAD_PAGES + section * SECTION_PAGES + group * GROUP_PAGES;
  whole = at < GROUP_WHOLE_BYTES;
  if (whole)
    {
      page += at / WHOLE_BYTES;
      at %= WHOLE_BYTES;
    }
  else
    {
      at -= GROUP_WHOLE_BYTES;
      page += GROUP_WHOLE + at / ZERO_BYTES;
      at %= ZERO_BYTES;
    }
  if (whole && at >= 8)
    {
      p.by_reference = true;
      p.len = WHOLE_BYTES - at;
      if (buf)
        fake_words (s->key, page * FAKE_PAGE_BYTES + (at - 8), buf, min_u64 (len, p.len));
      return p;
    }
  header = htobe64 (page * FAKE_PAGE_BYTES | RAM_CONTINUE | (whole ? RAM_PAGE : RAM_ZERO));
  memcpy (record, &header, sizeof header);
  p.len = (whole ? 8 : ZERO_BYTES) - at;
  copy_part (buf, len, record, at + p.len, at);
  return p;
}
