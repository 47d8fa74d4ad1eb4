/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * evidence-elf.c - an ELF core is whole when it reaches the end of its last
 * segment, and of its section table and sections where it has any.
 */
#include <config.h>

#include "iohelper/evidence.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>

struct elf
{
  const struct ioh_stream *s;
  bool wide, big;     /* ELFCLASS64, ELFDATA2MSB */
  uint64_t end;       /* bytes that the core must have */
  bool blind;         /* a table could not be read */
};

static uint64_t
number (const struct elf *e, const unsigned char *p, unsigned size)
{
  uint64_t value = 0;

  for (unsigned i = 0; i < size; i++)
    value = value << 8 | p[e->big ? i : size - 1 - i];
  return value;
}

/* A member of an ELF structure whose place depends on the class. */
#define GET(e, p, type, member)                                                                   \
  ((e)->wide                                                                                      \
     ? number (e, (p) + offsetof (Elf64_##type, member), sizeof ((Elf64_##type *) 0)->member)     \
     : number (e, (p) + offsetof (Elf32_##type, member), sizeof ((Elf32_##type *) 0)->member))

static void
reach (struct elf *e, uint64_t off, uint64_t size)
{
  uint64_t end = off + size;

  if (end < off)
    end = UINT64_MAX;
  if (end > e->end)
    e->end = end;
}

/* Calls TAKE for each of COUNT entries of SIZE bytes at OFF. */
static void
walk (struct elf *e, uint64_t off, uint64_t count, uint64_t size, uint64_t least,
      void (*take) (struct elf *e, const unsigned char *entry))
{
  unsigned char entry[sizeof (Elf64_Shdr)];

  if (count > UINT32_MAX || size < least || size > UINT16_MAX)
    {
      e->blind = true;
      return;
    }
  reach (e, off, count * size);
  for (uint64_t i = 0; i < count && e->end <= e->s->total; i++)
    {
      if (ioh_stream_get (e->s, entry, (size_t) least, off + i * size) < 0)
        {
          e->blind = true;
          return;
        }
      take (e, entry);
    }
}

static void
take_segment (struct elf *e, const unsigned char *p)
{
  reach (e, GET (e, p, Phdr, p_offset), GET (e, p, Phdr, p_filesz));
}

static void
take_section (struct elf *e, const unsigned char *p)
{
  if (GET (e, p, Shdr, sh_type) != SHT_NOBITS)
    reach (e, GET (e, p, Shdr, sh_offset), GET (e, p, Shdr, sh_size));
}

/* More segments than 16 bits count are counted by the first section. */
static uint64_t
segment_count (struct elf *e, const unsigned char *h)
{
  unsigned char first[sizeof (Elf64_Shdr)];
  uint64_t count = GET (e, h, Ehdr, e_phnum);
  size_t size = e->wide ? sizeof (Elf64_Shdr) : sizeof (Elf32_Shdr);

  if (count != PN_XNUM)
    return count;
  if (ioh_stream_get (e->s, first, size, GET (e, h, Ehdr, e_shoff)) < 0)
    {
      e->blind = true;
      return 0;
    }
  return GET (e, first, Shdr, sh_info);
}

int
ioh_evidence_elf (const struct ioh_stream *s, struct ioh_verdict *v)
{
  const unsigned char *h = s->head;
  struct elf e = { .s = s };
  size_t size;

  if (s->head_len < sizeof (Elf32_Ehdr)
      || (h[EI_CLASS] == ELFCLASS64 && s->head_len < sizeof (Elf64_Ehdr)))
    {
      snprintf (v->why, sizeof v->why, "an ELF file that stops inside its header");
      return 0;
    }
  e.wide = h[EI_CLASS] == ELFCLASS64;
  e.big = h[EI_DATA] == ELFDATA2MSB;
  size = e.wide ? sizeof (Elf64_Ehdr) : sizeof (Elf32_Ehdr);
  reach (&e, 0, size);
  walk (&e, GET (&e, h, Ehdr, e_phoff), segment_count (&e, h), GET (&e, h, Ehdr, e_phentsize),
        e.wide ? sizeof (Elf64_Phdr) : sizeof (Elf32_Phdr), take_segment);
  if (GET (&e, h, Ehdr, e_shoff) != 0)
    walk (&e, GET (&e, h, Ehdr, e_shoff), GET (&e, h, Ehdr, e_shnum),
          GET (&e, h, Ehdr, e_shentsize), e.wide ? sizeof (Elf64_Shdr) : sizeof (Elf32_Shdr),
          take_section);
  v->whole = s->total >= e.end;
  v->proven = v->whole && !e.blind;
  if (!v->whole)
    snprintf (v->why, sizeof v->why, "an ELF core of %llu bytes whose parts take %llu",
              (unsigned long long) s->total, (unsigned long long) e.end);
  return 0;
}
