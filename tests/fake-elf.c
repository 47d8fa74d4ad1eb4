/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-elf.c - a memory dump as QEMU's dump-guest-memory writes it: all headers
 * first, then the notes, the guest's memory in two segments, and the table of
 * section names as the very last bytes.
 *
 * Owner: tests/fake-stream.c.  Invariant: pages come whole; a note and the
 * table of names take up what is left.
 */
#include <config.h>

#include "tests/fake-build.h"

#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Of 64 pages the last ones are zero: a dump, unlike a stream, holds them all,
 * and they make up a third of it and more. */
#define GROUP_PAGES 64u
#define GROUP_WHOLE 40u

#define LOW_PAGES 160u /* below 640 KiB */
#define HIGH_START (UINT64_C (1) << 20)
#define N_PHDR 3u
#define N_SHDR 2u
#define CPU_BYTES 336u

static const char section_names[] = "\0.shstrtab";

static void
put_ident (struct fake_bytes *b)
{
  const unsigned char ident[EI_NIDENT]
      = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
          BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB, EV_CURRENT };

  fake_put (b, ident, sizeof ident);
}

static void
put_load (struct fake_bytes *b, uint64_t off, uint64_t address, uint64_t len)
{
  const Elf64_Phdr load = { .p_type = PT_LOAD, .p_offset = off, .p_filesz = len, .p_memsz = len,
                            .p_vaddr = address, .p_paddr = address };

  fake_put (b, &load, sizeof load);
}

static void
put_note (struct fake_bytes *b, const char *name, unsigned type, uint64_t key, size_t len)
{
  fake_put_u32 (b, (uint32_t) strlen (name) + 1);
  fake_put_u32 (b, (uint32_t) len);
  fake_put_u32 (b, type);
  fake_put (b, name, strlen (name) + 1);
  fake_put_zeros (b, -(strlen (name) + 1) % 4);
  fake_put_words (b, key, len);
}

/* FILL: bytes of the note that takes up what is left, a multiple of 4. */
static void
put_head (struct fake_stream *s, struct fake_bytes *b, uint64_t pages, size_t fill, size_t names_bytes)
{
  const size_t shdr_at = sizeof (Elf64_Ehdr), phdr_at = shdr_at + N_SHDR * sizeof (Elf64_Shdr);
  const size_t notes_at = phdr_at + N_PHDR * sizeof (Elf64_Phdr);
  const uint64_t low = pages < LOW_PAGES ? pages : LOW_PAGES, low_bytes = low * FAKE_PAGE_BYTES;
  struct fake_bytes notes = { 0 };
  uint64_t loads_at;

  put_note (&notes, "CORE", NT_PRSTATUS, s->key + 1, CPU_BYTES);
  put_note (&notes, "QEMU", 0, s->key + 2, fill);
  loads_at = notes_at + notes.len;

  put_ident (b);
  fake_put_u16 (b, ET_CORE);
  fake_put_u16 (b, EM_X86_64);
  fake_put_u32 (b, EV_CURRENT);
  fake_put_u64 (b, 0); /* entry */
  fake_put_u64 (b, phdr_at);
  fake_put_u64 (b, shdr_at);
  fake_put_u32 (b, 0); /* flags */
  fake_put_u16 (b, sizeof (Elf64_Ehdr));
  fake_put_u16 (b, sizeof (Elf64_Phdr));
  fake_put_u16 (b, N_PHDR);
  fake_put_u16 (b, sizeof (Elf64_Shdr));
  fake_put_u16 (b, N_SHDR);
  fake_put_u16 (b, N_SHDR - 1);
  fake_mark (s, b->len);

  const Elf64_Shdr names = { .sh_name = 1, .sh_type = SHT_STRTAB, .sh_size = names_bytes,
                             .sh_offset = loads_at + pages * FAKE_PAGE_BYTES };
  fake_put_zeros (b, sizeof (Elf64_Shdr));
  fake_put (b, &names, sizeof names);
  fake_mark (s, b->len);

  const Elf64_Phdr note = { .p_type = PT_NOTE, .p_offset = notes_at, .p_filesz = notes.len, .p_memsz = notes.len };
  fake_put (b, &note, sizeof note);
  fake_mark (s, b->len);
  put_load (b, loads_at, 0, low_bytes);
  fake_mark (s, b->len);
  put_load (b, loads_at + low_bytes, HIGH_START, (pages - low) * FAKE_PAGE_BYTES);
  fake_mark (s, b->len);
  fake_put (b, notes.ptr, notes.len);
  fake_mark (s, b->len);
  free (notes.ptr);
}

bool
fake_elf_build (struct fake_stream *s, struct fake_bytes *head, struct fake_bytes *tail, uint64_t *least)
{
  uint64_t pages, left;
  size_t odd;

  put_head (s, head, 0, 0, 0);
  *least = head->len + sizeof section_names;
  if (s->spec.size < *least)
    return false;
  left = s->spec.size - *least;
  pages = left / FAKE_PAGE_BYTES;
  left %= FAKE_PAGE_BYTES;
  odd = left % 4;

  head->len = 0;
  s->n_marks = 0;
  put_head (s, head, pages, (size_t) left - odd, sizeof section_names + odd);
  fake_put (tail, section_names, sizeof section_names);
  fake_put_zeros (tail, odd);
  s->body = FAKE_BODY_PAGES;
  s->body_len = pages * FAKE_PAGE_BYTES;
  return true;
}

struct fake_piece
fake_pages_piece (const struct fake_stream *s, uint64_t off, unsigned char *buf, size_t len)
{
  struct fake_piece p = { FAKE_PAGE_BYTES - off % FAKE_PAGE_BYTES, true, true };

  if (len > p.len)
    len = p.len;
  if (buf && off / FAKE_PAGE_BYTES % GROUP_PAGES < GROUP_WHOLE)
    fake_words (s->key, off, buf, len);
  else if (buf)
    memset (buf, 0, len);
  return p;
}
