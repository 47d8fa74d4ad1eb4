/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-stream.c - puts a stream's head, body and tail together and hands out
 * any part of it; see fake-stream.h for the invariant.
 */
#include <config.h>

#include "tests/fake-build.h"

#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plain stream has no pieces of its own; this is what QEMU mostly writes. */
#define PLAIN_PIECE_BYTES (32 * (8 + FAKE_PAGE_BYTES))

void
fake_put (struct fake_bytes *b, const void *data, size_t len)
{
  if (len > b->cap - b->len)
    {
      b->cap = 2 * b->cap + len + 1024;
      b->ptr = realloc (b->ptr, b->cap);
      if (!b->ptr)
        {
          fprintf (stderr, "fake-vm: out of memory\n");
          exit (4);
        }
    }
  memcpy (b->ptr + b->len, data, len);
  b->len += len;
}

void
fake_put_text (struct fake_bytes *b, const char *text)
{
  fake_put (b, text, strlen (text));
}

void
fake_put_format (struct fake_bytes *b, const char *format, ...)
{
  char text[512];
  va_list ap;

  va_start (ap, format);
  vsnprintf (text, sizeof text, format, ap);
  va_end (ap);
  fake_put_text (b, text);
}

void
fake_put_zeros (struct fake_bytes *b, size_t len)
{
  static const unsigned char zeros[256];

  for (; len > sizeof zeros; len -= sizeof zeros)
    fake_put (b, zeros, sizeof zeros);
  fake_put (b, zeros, len);
}

void
fake_put_u8 (struct fake_bytes *b, unsigned v)
{
  unsigned char c = (unsigned char) v;
  fake_put (b, &c, 1);
}

void
fake_put_be32 (struct fake_bytes *b, uint32_t v)
{
  v = htobe32 (v);
  fake_put (b, &v, sizeof v);
}

void
fake_put_be64 (struct fake_bytes *b, uint64_t v)
{
  v = htobe64 (v);
  fake_put (b, &v, sizeof v);
}

void
fake_put_u16 (struct fake_bytes *b, uint16_t v)
{
  fake_put (b, &v, sizeof v);
}

void
fake_put_u32 (struct fake_bytes *b, uint32_t v)
{
  fake_put (b, &v, sizeof v);
}

void
fake_put_u64 (struct fake_bytes *b, uint64_t v)
{
  fake_put (b, &v, sizeof v);
}

/* Each step can be undone, so words of different index always differ: two
 * pages can be told from each other by any of their words. */
static inline uint64_t
word (uint64_t key, uint64_t index)
{
  uint64_t x = (index * UINT64_C (0x9e3779b97f4a7c15)) ^ key;

  x ^= x >> 32;
  x *= UINT64_C (0xd6e8feb86659fd93);
  x ^= x >> 29;
  return htole64 (x);
}

void
fake_words (uint64_t key, uint64_t pos, unsigned char *buf, size_t len)
{
  uint64_t index = pos / 8, w;
  size_t skip = pos % 8;

  if (skip)
    {
      size_t n = len < 8 - skip ? len : 8 - skip;
      w = word (key, index++);
      memcpy (buf, (unsigned char *) &w + skip, n);
      buf += n;
      len -= n;
    }
  for (; len >= 8; buf += 8, len -= 8)
    {
      w = word (key, index++);
      memcpy (buf, &w, 8);
    }
  if (len)
    {
      w = word (key, index);
      memcpy (buf, &w, len);
    }
}

void
fake_put_words (struct fake_bytes *b, uint64_t key, size_t len)
{
  size_t at = b->len;

  fake_put_zeros (b, len);
  fake_words (key, 0, b->ptr + at, len);
}

void
fake_mark (struct fake_stream *s, uint64_t off)
{
  if (s->n_marks == FAKE_MARKS_MAX)
    abort ();
  s->marks[s->n_marks++] = off;
}

int
fake_stream_init (struct fake_stream *s, const struct fake_spec *spec, char *why, size_t why_len)
{
  struct fake_bytes head = { 0 }, tail = { 0 };
  const char *what = "";
  uint64_t least = 0;
  bool fits = true;

  memset (s, 0, sizeof *s);
  s->spec = *spec;
  s->key = (spec->seed + 1) * UINT64_C (0xbf58476d1ce4e5b9);
  s->key ^= s->key >> 31;
  switch (spec->kind)
    {
    case FAKE_PLAIN:
      s->body = FAKE_BODY_WORDS;
      s->body_len = spec->size;
      break;
    case FAKE_QEMU:
      what = "QEMU stream";
      fits = fake_qemu_build (s, &head, &tail, &least);
      break;
    case FAKE_LIBVIRT:
      what = "libvirt image";
      fits = fake_libvirt_build (s, &head, &tail, &least);
      break;
    case FAKE_ELF:
      what = "memory dump";
      fits = fake_elf_build (s, &head, &tail, &least);
      break;
    }
  s->head = head.ptr;
  s->head_len = head.len;
  s->tail = tail.ptr;
  s->tail_len = tail.len;
  if (!fits)
    {
      snprintf (why, why_len, "--size=%" PRIu64 " is too small: a %s of this shape has at least %" PRIu64 " bytes",
                spec->size, what, least);
      fake_stream_free (s);
      return -1;
    }
  if (s->head_len + s->body_len + s->tail_len != spec->size)
    abort ();
  return 0;
}

void
fake_stream_free (struct fake_stream *s)
{
  free (s->head);
  free (s->tail);
  memset (s, 0, sizeof *s);
}

static struct fake_piece
body_piece (const struct fake_stream *s, uint64_t off, unsigned char *buf, size_t len)
{
  struct fake_piece p = { PLAIN_PIECE_BYTES - off % PLAIN_PIECE_BYTES, false, true };

  if (s->body == FAKE_BODY_RAM)
    return fake_ram_piece (s, off, buf, len);
  if (s->body == FAKE_BODY_PAGES)
    return fake_pages_piece (s, off, buf, len);
  if (p.len > s->body_len - off)
    p.len = s->body_len - off;
  if (buf)
    fake_words (s->key, s->head_len + off, buf, len < p.len ? len : p.len);
  return p;
}

void
fake_stream_fill (const struct fake_stream *s, uint64_t off, void *buf, size_t len)
{
  unsigned char *p = buf;
  size_t n;

  if (len > 0 && off < s->head_len)
    {
      n = s->head_len - off;
      if (n > len)
        n = len;
      memcpy (p, s->head + off, n);
      p += n;
      off += n;
      len -= n;
    }
  while (len > 0 && off < s->head_len + s->body_len)
    {
      n = body_piece (s, off - s->head_len, p, len).len;
      if (n > len)
        n = len;
      p += n;
      off += n;
      len -= n;
    }
  if (len > 0)
    memcpy (p, s->tail + (off - s->head_len - s->body_len), len);
}

struct fake_piece
fake_stream_piece (const struct fake_stream *s, uint64_t off)
{
  struct fake_piece p = { 0 };

  if (off < s->head_len)
    {
      p.len = s->head_len - off;
      for (unsigned i = 0; i < s->n_marks; i++)
        if (s->marks[i] > off && s->marks[i] - off <= p.len)
          {
            p.len = s->marks[i] - off;
            p.flush = true;
            break;
          }
    }
  else if (off < s->head_len + s->body_len)
    p = body_piece (s, off - s->head_len, NULL, 0);
  else
    p.len = s->spec.size - off;
  return p;
}
