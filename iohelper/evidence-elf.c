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
  bool blind;         /* a table does not lie in what was kept */
  int error;          /* -errno of reading one */
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

  if (count == 0)
    return;
  if (count > UINT32_MAX || size < least || size > UINT16_MAX)
    {
      e->blind = true;
      return;
    }
  reach (e, off, count * size);
  for (uint64_t i = 0; i < count && e->end <= e->s->total; i++)
    {
      int r = ioh_stream_get (e->s, entry, (size_t) least, off + i * size);
      if (r < 0)
        {
          e->blind = true;
          e->error = r == -ENODATA ? 0 : r;
          return;
        }
      take (e, entry);
    }
}

/* QEMU gives memory that its dump leaves out the offset -1 and no bytes. */
static void
take_segment (struct elf *e, const unsigned char *p)
{
  if (GET (e, p, Phdr, p_filesz) > 0)
    reach (e, GET (e, p, Phdr, p_offset), GET (e, p, Phdr, p_filesz));
}

/* The first section is of type NULL; its numbers may be counts (see below). */
static void
take_section (struct elf *e, const unsigned char *p)
{
  uint64_t type = GET (e, p, Shdr, sh_type);

  if (type != SHT_NULL && type != SHT_NOBITS && GET (e, p, Shdr, sh_size) > 0)
    reach (e, GET (e, p, Shdr, sh_offset), GET (e, p, Shdr, sh_size));
}

/* Counts that do not fit in 16 bits are kept by the first section. */
static void
count_parts (struct elf *e, const unsigned char *h, uint64_t *segments, uint64_t *sections)
{
  uint64_t off = GET (e, h, Ehdr, e_shoff);
  unsigned char first[sizeof (Elf64_Shdr)];
  int r;

  *segments = GET (e, h, Ehdr, e_phnum);
  *sections = off ? GET (e, h, Ehdr, e_shnum) : 0;
  if (*segments != PN_XNUM && (off == 0 || *sections > 0))
    return;
  r = ioh_stream_get (e->s, first, e->wide ? sizeof (Elf64_Shdr) : sizeof (Elf32_Shdr), off);
  if (off == 0 || r < 0)
    {
      e->blind = true;
      e->error = r == -ENODATA ? 0 : r;
      reach (e, off, 1); /* it lies there, if the core reaches so far */
      return;
    }
  if (*segments == PN_XNUM)
    *segments = GET (e, first, Shdr, sh_info);
  if (*sections == 0)
    *sections = GET (e, first, Shdr, sh_size);
}

int
ioh_evidence_elf (const struct ioh_stream *s, struct ioh_verdict *v)
{
  const unsigned char *h = s->head;
  struct elf e = { .s = s };
  uint64_t segments, sections;
  size_t size;

  e.wide = s->head_len > EI_CLASS && h[EI_CLASS] == ELFCLASS64;
  e.big = s->head_len > EI_DATA && h[EI_DATA] == ELFDATA2MSB;
  size = e.wide ? sizeof (Elf64_Ehdr) : sizeof (Elf32_Ehdr);
  if (s->head_len < size)
    {
      snprintf (v->why, sizeof v->why, "an ELF core that stops inside its header");
      return 0;
    }
  reach (&e, 0, size);
  count_parts (&e, h, &segments, &sections);
  walk (&e, GET (&e, h, Ehdr, e_phoff), segments, GET (&e, h, Ehdr, e_phentsize),
        e.wide ? sizeof (Elf64_Phdr) : sizeof (Elf32_Phdr), take_segment);
  walk (&e, GET (&e, h, Ehdr, e_shoff), sections, GET (&e, h, Ehdr, e_shentsize),
        e.wide ? sizeof (Elf64_Shdr) : sizeof (Elf32_Shdr), take_section);
  if (e.error < 0)
    return e.error;
  if (s->total < e.end)
    snprintf (v->why, sizeof v->why, "an ELF core of %llu bytes whose parts take %llu",
              (unsigned long long) s->total, (unsigned long long) e.end);
  else if (e.blind)
    ioh_verdict_undecided (v, "an ELF core whose tables are too far in to be checked");
  else
    v->whole = v->proven = true;
  return 0;
}
