/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * u-evidence-elf.c - how much of an ELF core must be there: cores of both
 * classes and byte orders, cut at every byte, and hostile headers.
 */
#include <config.h>

#include "iohelper/evidence.h"
#include "tests/tap.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTE 32          /* bytes of the core's parts */
#define MEMORY 300
#define NAMES 11

/* A core like QEMU's: header, one section header or two, segments, data, and
 * the sections' names last. */
struct core
{
  bool wide, big;
  bool counted;            /* numbers of parts kept by the first section */
  uint64_t memory_off;     /* 0: where it is */
  uint64_t memory_size;
  uint64_t names_type;
  uint64_t table_off;      /* 0: where it is, of the segments' table */
  unsigned phentsize;      /* 0: the right one */
};

static unsigned char core[4096];
static size_t used;
static unsigned strays;
static int reader_errno;

static ssize_t
read_at (void *ctx, void *buf, size_t len, uint64_t off)
{
  uint64_t total = *(uint64_t *) ctx;

  if (reader_errno)
    return -reader_errno;
  if (off > total || len > total - off)
    {
      strays++;
      return -ENODATA;
    }
  for (size_t i = 0; i < len; i++)
    ((unsigned char *) buf)[i] = off + i < used ? core[off + i] : 0;
  return (ssize_t) len;
}

static struct ioh_verdict
judge (enum ioh_require require, uint64_t total)
{
  size_t n = total < IOH_EVIDENCE_HEAD ? (size_t) total : IOH_EVIDENCE_HEAD;
  unsigned char *head = calloc (1, n + !n);
  struct ioh_verdict v = { .format = IOH_FORMAT_UNKNOWN };
  int e;

  if (!head)
    bail_out ("out of memory");
  memcpy (head, core, n < used ? n : used);
  e = ioh_evidence_check (require, head, n, total, read_at, &total, &v);
  free (head);
  if (e != -reader_errno)
    bail_out ("the check gives %d", e);
  return v;
}

static const char *
verdict (enum ioh_require require, uint64_t total)
{
  struct ioh_verdict v = judge (require, total);

  return !v.whole ? "cut" : v.proven ? "proven" : v.undecided ? "undecided" : "whole";
}

static void
put (const struct core *c, uint64_t value, unsigned size)
{
  for (unsigned i = 0; i < size; i++)
    core[used + (c->big ? size - 1 - i : i)] = (unsigned char) (value >> 8 * i);
  used += size;
}

/* An address or offset, as wide as the class. */
static void
put_word (const struct core *c, uint64_t value)
{
  put (c, value, c->wide ? 8 : 4);
}

static void
put_section (const struct core *c, uint64_t type, uint64_t off, uint64_t size, uint64_t info)
{
  put (c, 0, 4);
  put (c, type, 4);
  put_word (c, 0);
  put_word (c, 0);
  put_word (c, off);
  put_word (c, size);
  put (c, 0, 4);
  put (c, info, 4);
  put_word (c, 0);
  put_word (c, 0);
}

static void
put_segment (const struct core *c, uint64_t type, uint64_t off, uint64_t size)
{
  put (c, type, 4);
  if (c->wide)
    put (c, 0, 4);
  put_word (c, off);
  put_word (c, 0);
  put_word (c, 0);
  put_word (c, size);
  put_word (c, size);
  if (!c->wide)
    put (c, 0, 4);
  put_word (c, 0);
}

static void
make (const struct core *c)
{
  uint64_t ehdr = c->wide ? 64 : 52, shdr = c->wide ? 64 : 40, phdr = c->wide ? 56 : 32;
  uint64_t data = ehdr + 2 * shdr + 3 * phdr;

  memset (core, 0, sizeof core);
  used = 0;
  memcpy (core, "\177ELF", 4);
  core[4] = c->wide ? 2 : 1;
  core[5] = c->big ? 2 : 1;
  core[6] = 1;
  used = 16;
  put (c, ET_CORE, 2);
  put (c, EM_X86_64, 2);
  put (c, 1, 4);
  put_word (c, 0);
  put_word (c, c->table_off ? c->table_off : ehdr + 2 * shdr);
  put_word (c, ehdr);
  put (c, 0, 4);
  put (c, ehdr, 2);
  put (c, c->phentsize ? c->phentsize : phdr, 2);
  put (c, c->counted ? PN_XNUM : 3, 2);
  put (c, shdr, 2);
  put (c, c->counted ? 0 : 2, 2);
  put (c, 1, 2);
  put_section (c, SHT_NULL, UINT32_MAX, c->counted ? 2 : 0, c->counted ? 3 : 0);
  put_section (c, c->names_type ? c->names_type : SHT_STRTAB, data + NOTE + MEMORY, NAMES, 0);
  put_segment (c, PT_NOTE, data, NOTE);
  put_segment (c, PT_LOAD, data + NOTE, MEMORY);
  put_segment (c, PT_LOAD, c->memory_off ? c->memory_off : data + NOTE, c->memory_size);
  used += NOTE + MEMORY + NAMES;
}

static void
check_cuts (void)
{
  for (unsigned i = 0; i < 8; i++)
    {
      struct core c = { .wide = i & 1, .big = i & 2, .counted = i & 4, .memory_size = MEMORY };
      unsigned taken = 0;

      make (&c);
      is_str (verdict (IOH_REQUIRE_ELF, used), "proven", "a %s-bit %s-endian core%s is whole",
              c.wide ? "64" : "32", c.big ? "big" : "little",
              c.counted ? " with its counts in the first section" : "");
      for (size_t n = 4; n < used; n++)
        taken += judge (IOH_REQUIRE_AUTO, n).whole;
      is_int (taken, 0, "... and cut at any byte it is not");
      is_str (verdict (IOH_REQUIRE_AUTO, used + 100), "proven", "... and with more behind it is");
    }
}

static void
check_parts (void)
{
  struct core c = { .wide = true, .memory_off = UINT64_MAX };

  make (&c);
  is_str (verdict (IOH_REQUIRE_AUTO, used), "proven", "memory left out of a dump takes no room");
  c.memory_size = 1;
  make (&c);
  is_str (verdict (IOH_REQUIRE_AUTO, used), "cut", "a segment behind all bytes is missing");
  c = (struct core) { .wide = true, .memory_off = 2, .memory_size = UINT64_MAX };
  make (&c);
  is_str (verdict (IOH_REQUIRE_AUTO, used), "cut", "one that goes round 2^64 is missing");
  c = (struct core) { .wide = true, .names_type = SHT_NOBITS };
  make (&c);
  is_str (verdict (IOH_REQUIRE_AUTO, used - NAMES), "proven", "a section of no bytes takes no room");
  c = (struct core) { .wide = true, .phentsize = 8 };
  make (&c);
  is_str (verdict (IOH_REQUIRE_AUTO, used), "undecided", "entries too small cannot be judged");
  is_str (verdict (IOH_REQUIRE_ELF, used), "cut", "... which --require=elf does not take");
  c = (struct core) { .wide = true, .table_off = IOH_EVIDENCE_HEAD };
  make (&c);
  is_str (verdict (IOH_REQUIRE_AUTO, IOH_EVIDENCE_HEAD + IOH_EVIDENCE_TAIL + 1), "undecided",
          "a table that was not kept cannot be judged");
  is_str (verdict (IOH_REQUIRE_AUTO, IOH_EVIDENCE_HEAD + 3 * 56 - 1), "cut",
          "... but it is missing where the core ends before its end");
  reader_errno = EIO;
  ok (!judge (IOH_REQUIRE_AUTO, IOH_EVIDENCE_HEAD + 3 * 56).whole,
      "a table that cannot be read is that error, and the core not whole");
  reader_errno = 0;
  c.table_off = 0;
  make (&c);
  core[60] = 0;                              /* e_shnum, and e_shoff: */
  memcpy (core + 40, "\0\20\0\0\0\0\0", 8);
  is_str (verdict (IOH_REQUIRE_AUTO, used), "cut", "so is a table whose size is behind the end");
  c.table_off = UINT64_MAX - 8;
  make (&c);
  is_str (verdict (IOH_REQUIRE_AUTO, used), "cut", "a table that goes round 2^64 is missing");
}

/* xorshift, so that a failure repeats */
static uint32_t
draw (void)
{
  static uint32_t x = 0x2545f491;

  x ^= x << 13;
  x ^= x >> 17;
  return x ^= x << 5;
}

static void
check_garbage (void)
{
  unsigned wrong = 0;

  for (unsigned i = 0; i < 30000; i++)
    {
      struct core c = { .wide = i & 1, .big = i & 2, .counted = i & 4, .memory_size = MEMORY };
      static const unsigned char nasty[] = { 0, 1, 2, 0x7f, 0x80, 0xfe, 0xff };
      struct ioh_verdict v;

      make (&c);
      for (uint32_t n = 1 + draw () % 6; n > 0; n--)
        core[4 + draw () % 400] = nasty[draw () % sizeof nasty];
      v = judge (IOH_REQUIRE_AUTO, draw () % 4 ? used : draw () % (UINT32_C (6) << 20));
      wrong += (v.proven && (!v.whole || v.undecided)) || !memchr (v.why, 0, sizeof v.why);
    }
  is_int (wrong, 0, "30000 damaged cores get consistent verdicts");
}

int
main (void)
{
  check_cuts ();
  check_parts ();
  check_garbage ();
  is_int (strays, 0, "nothing beyond the stream was asked for");
  return done_testing ();
}
