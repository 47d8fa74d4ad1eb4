/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * evidence-qemu.c - the end of a QEMU migration stream.
 *
 * The last device's section is QEMU_VM_SECTION_FULL (4) with an id, a name and
 * a version, its data, and a footer, 0x7e with the same id.  Then comes
 * QEMU_VM_EOF (0), after which QEMU since 2.3 adds QEMU_VM_VMDESCRIPTION (6), a
 * length, and a JSON object of just that length.  With -machine
 * suppress-vmdesc=on the 0 is the last byte.  Numbers are big-endian.
 *
 * Without the JSON a footer and a 0 are not enough: the firmware tables of a
 * plain pc hold "7e 00 00 00 00 00" in several places (6 cuts of a 64 MiB
 * guest's stream, 30 of a q35 with devices).  So the section before it has to
 * be the one that the footer names: none of 4.7 million cuts of twelve streams
 * passed but the one just behind QEMU_VM_EOF, where QEMU loads the stream.
 *
 * What can still be taken for whole: a cut just behind a copy of such an end
 * in guest memory.  A page has 4096 bytes and 8 others before the next, so the
 * copy would have to fit in one page, whose last byte it is: smaller than any
 * machine's own description but that of -M none.  A guest that fills its
 * memory with such pages can have its own save taken for whole when QEMU dies
 * in the middle; --expect-length, COMMAND and a manager's word cannot be fooled.
 */
#include <config.h>

#include "iohelper/evidence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VM_EOF 0x00
#define SECTION_FULL 0x04
#define VM_DESCRIPTION 0x06
#define CONFIGURATION 0x07
#define SECTION_FOOTER 0x7e
#define HEADER 8          /* magic and version */
#define BEFORE 6          /* EOF, type, length of the description */
#define FOOTER 6          /* footer, id, EOF */
#define VERSION_MAX 65536 /* of a device's section: small numbers, counted up by hand */
#define STEP ((size_t) 64 << 10)

enum end { NO_END, IS_END, TOO_LONG };

/* The last bytes of the stream, behind its header, read from the end backwards
 * as far as they are needed. */
struct tail
{
  const struct ioh_stream *s;
  unsigned char *bytes;
  size_t len;
  size_t from;   /* bytes[from] and all behind it were read */
};

static uint32_t
be32 (const unsigned char *p)
{
  return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

static int
reach_back (struct tail *t, size_t from)
{
  while (from < t->from)
    {
      size_t n = t->from < STEP ? t->from : STEP;
      int r = ioh_stream_get (t->s, t->bytes + t->from - n, n, t->s->total - t->len + t->from - n);
      if (r < 0)
        return r;
      t->from -= n;
    }
  return 0;
}

static bool
is_text (unsigned char c)
{
  return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r';
}

/* One JSON object whose outermost braces are the first and the last byte, and
 * that speaks of devices, as all of QEMU's descriptions do. */
static bool
is_description (const unsigned char *p, size_t len)
{
  bool string = false;
  size_t depth = 0;

  for (size_t i = 0; i < len; i++)
    {
      if (string && p[i] == '\\')
        i++;
      else if (p[i] == '"')
        string = !string;
      else if (string)
        continue;
      else if (p[i] == '{' || p[i] == '[')
        depth++;
      else if (p[i] == '}' || p[i] == ']')
        if (depth == 0 || (--depth == 0 && i + 1 < len))
          return false;
    }
  return depth == 0 && !string && memmem (p, len, "\"devices\"", 9);
}

/* An enum end or -errno: does the stream end in EOF and a description? */
static int
ends_in_description (struct tail *t)
{
  const unsigned char *p = t->bytes;

  for (size_t i = t->len; i-- > BEFORE;)
    {
      int r = reach_back (t, i - BEFORE);
      if (r < 0)
        return r;
      if (!is_text (p[i]) || p[t->len - 1] != '}')
        return NO_END;
      if (p[i] == '{' && p[i - BEFORE] == VM_EOF && p[i - 5] == VM_DESCRIPTION
          && be32 (p + i - 4) == t->len - i && is_description (p + i, t->len - i))
        return IS_END;
    }
  return t->len == IOH_EVIDENCE_TAIL ? TOO_LONG : NO_END;
}

/* The beginning of a device's section at P, of which LEN bytes are there. */
static bool
begins_section (const unsigned char *p, size_t len)
{
  size_t name = len > 6 ? p[5] : 0;

  if (p[0] != SECTION_FULL || name == 0 || len < 6 + name + 8)
    return false;
  for (size_t i = 0; i < name; i++)
    if (p[6 + i] < ' ' || p[6 + i] > '~')
      return false;
  return be32 (p + 6 + name + 4) < VERSION_MAX;
}

/* An enum end or -errno: does the stream end in a section, its footer, EOF? */
static int
ends_in_section (struct tail *t)
{
  const unsigned char *p = t->bytes;
  size_t footer = t->len < FOOTER ? 0 : t->len - FOOTER;
  int r = reach_back (t, footer);

  if (r < 0)
    return r;
  if (t->len < FOOTER || p[t->len - 1] != VM_EOF || p[footer] != SECTION_FOOTER)
    return NO_END;
  for (size_t i = footer; i-- > 0;)
    {
      r = reach_back (t, i < 5 ? 0 : i - 5);
      if (r < 0)
        return r;
      if (!begins_section (p + i, footer - i))
        continue;
      if (memcmp (p + i + 1, p + footer + 1, 4) == 0)
        return IS_END;
      if (i >= 5 && p[i - 5] == SECTION_FOOTER)
        return NO_END; /* another device's, behind a footer: the last one that began */
    }
  /* Nor is one of 4 MiB or more found; the last is small (globalstate, or a
   * device added later), and guest memory holds footers by accident: 1 cut in
   * 10 000 of a booted Linux guest's stream. */
  return NO_END;
}

/* Machine types before 2.4 write neither the configuration section at the
 * beginning nor footers, and before 2.3 no description: a 0 is all their end. */
static bool
is_old (const struct ioh_stream *s, uint64_t start)
{
  unsigned char type;

  return ioh_stream_get (s, &type, 1, start + HEADER) == 0 && type != CONFIGURATION;
}

static int
judge_end (struct tail *t, uint64_t start, struct ioh_verdict *v)
{
  int r = ends_in_description (t);

  if (r == NO_END)
    r = ends_in_section (t);
  if (r < 0)
    return r;
  if (r == IS_END)
    v->whole = v->proven = true;
  else if (r == TOO_LONG)
    ioh_verdict_undecided (v, "a QEMU stream whose closing description is too long to be checked");
  else if (t->len > 0 && t->bytes[t->len - 1] == VM_EOF && is_old (t->s, start))
    ioh_verdict_undecided (v, "a QEMU stream of an old machine type, whose end has no mark");
  else
    snprintf (v->why, sizeof v->why,
              "a QEMU stream that stops at %llu bytes without its end-of-stream section",
              (unsigned long long) t->s->total);
  return 0;
}

int
ioh_evidence_qemu (const struct ioh_stream *s, uint64_t start, struct ioh_verdict *v)
{
  uint64_t body = s->total > start + HEADER ? s->total - start - HEADER : 0;
  struct tail t = { .s = s };
  unsigned char version[4];
  int r;

  if (ioh_stream_get (s, version, sizeof version, start + 4) == 0
      && be32 (version) != 2 && be32 (version) != 3)
    {
      ioh_verdict_undecided (v, "a QEMU stream of version %lu, whose end is not known",
                             (unsigned long) be32 (version));
      return 0;
    }
  t.len = t.from = body < IOH_EVIDENCE_TAIL ? (size_t) body : IOH_EVIDENCE_TAIL;
  t.bytes = malloc (t.len + 1);
  if (!t.bytes)
    return -ENOMEM;
  r = reach_back (&t, t.len > 0 ? t.len - 1 : 0);
  if (r == 0)
    r = judge_end (&t, start, v);
  free (t.bytes);
  return r;
}
