/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * evidence.c - which format a stream has, and whom to ask about its end.
 */
#include <config.h>

#include "iohelper/evidence.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = { "unknown", "qemu", "libvirt", "elf" };

const char *
ioh_format_word (enum ioh_format format)
{
  return words[format];
}

/* A stream that stops inside the magic is one of that format, and cut. */
static bool
begins (const void *head, size_t len, const char *magic)
{
  size_t n = strlen (magic);

  return memcmp (head, magic, len < n ? len : n) == 0;
}

/* Other ELF files end as they like.  One that stops before its type is told
 * is taken for a core that was cut. */
static bool
is_core (const unsigned char *head, size_t len)
{
  unsigned type;

  if (len < IOH_EVIDENCE_MAGIC)
    return true;
  type = head[EI_DATA] == ELFDATA2MSB ? head[16] << 8 | head[17] : head[17] << 8 | head[16];
  return type == ET_CORE;
}

enum ioh_format
ioh_format_of (const void *head, size_t len)
{
  if (len >= 4 && memcmp (head, "QEVM", 4) == 0)
    return IOH_FORMAT_QEMU;
  if (len >= 4 && memcmp (head, "\177ELF", 4) == 0)
    return is_core (head, len) ? IOH_FORMAT_ELF : IOH_FORMAT_UNKNOWN;
  if (len >= 4 && (begins (head, len, "LibvirtQemudSave") || begins (head, len, "LibvirtQemudPart")))
    return IOH_FORMAT_LIBVIRT;
  return IOH_FORMAT_UNKNOWN;
}

void
ioh_verdict_undecided (struct ioh_verdict *v, const char *format, ...)
{
  va_list args;

  v->whole = v->undecided = true;
  v->proven = false;
  va_start (args, format);
  vsnprintf (v->why, sizeof v->why, format, args);
  va_end (args);
}

int
ioh_stream_get (const struct ioh_stream *s, void *buf, size_t len, uint64_t off)
{
  ssize_t n;

  if (off > s->total || len > s->total - off)
    return -ENODATA;
  if (off + len <= s->head_len)
    {
      memcpy (buf, s->head + off, len);
      return 0;
    }
  if (off + len > IOH_EVIDENCE_HEAD && s->total - off > IOH_EVIDENCE_TAIL)
    return -ENODATA;
  n = s->read_at (s->ctx, buf, len, off);
  if (n < 0)
    return (int) n;
  return (size_t) n == len ? 0 : -EIO;
}

static int
judge (const struct ioh_stream *s, struct ioh_verdict *v)
{
  switch (v->format)
    {
    case IOH_FORMAT_QEMU:
      return ioh_evidence_qemu (s, 0, v);
    case IOH_FORMAT_LIBVIRT:
      return ioh_evidence_libvirt (s, v);
    case IOH_FORMAT_ELF:
      return ioh_evidence_elf (s, v);
    case IOH_FORMAT_UNKNOWN:
      break;
    }
  v->whole = true;
  return 0;
}

int
ioh_evidence_check (enum ioh_require require, const void *head, size_t head_len, uint64_t total,
                    ioh_read_at *read_at, void *ctx, struct ioh_verdict *v)
{
  static const enum ioh_format wanted[] = {
    [IOH_REQUIRE_QEMU] = IOH_FORMAT_QEMU,
    [IOH_REQUIRE_LIBVIRT] = IOH_FORMAT_LIBVIRT,
    [IOH_REQUIRE_ELF] = IOH_FORMAT_ELF,
  };
  struct ioh_stream s = { head, head_len, total, read_at, ctx };
  int r;

  memset (v, 0, sizeof *v);
  v->format = ioh_format_of (head, head_len);
  if (require == IOH_REQUIRE_NONE)
    {
      v->whole = true;
      return 0;
    }
  if (require == IOH_REQUIRE_AUTO)
    return judge (&s, v);
  if (v->format != wanted[require])
    {
      snprintf (v->why, sizeof v->why, "it does not begin as --require=%s wants",
                words[wanted[require]]);
      return 0;
    }
  r = judge (&s, v);
  if (v->undecided)
    v->whole = false;
  return r;
}
