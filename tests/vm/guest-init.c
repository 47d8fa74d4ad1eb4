/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * guest-init.c - the only program of the test guest, its process 1.
 *
 * Fills memory with a pattern that depends on the page's number, then for
 * ever verifies every byte of it and prints a counter on the serial line.
 * A guest that is saved and restored shows by its next line that no page was
 * lost, swapped or changed, and by the counter that no time was.
 *
 * A page: magic, page number, words that follow from both, and the CRC-32 of
 * all before it, so that a stream can be searched for whole pages without
 * the guest's help.  A second, small region is rewritten at each tick: pages
 * that change while a save runs are verified too.
 *
 * Invariant: the lines are "guest: ready pages=N", then "guest: tick 1 ok",
 * "guest: tick 2 ok", ... without gap; the first wrong page is named instead
 * of "ok".  PATTERN_MIB and TICK_MS come from the kernel's command line.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define PAGE_WORDS (PAGE_BYTES / sizeof (uint64_t))
#define MAGIC UINT64_C (0x7473657567686f69) /* "iohguest" in the stream */
#define CHANGING_PAGES 256

static uint32_t crc_table[256];

static void
crc_init (void)
{
  for (uint32_t i = 0; i < 256; i++)
    {
      uint32_t c = i;
      for (int bit = 0; bit < 8; bit++)
        c = c & 1 ? UINT32_C (0xedb88320) ^ (c >> 1) : c >> 1;
      crc_table[i] = c;
    }
}

static uint32_t
crc (const void *data, size_t bytes)
{
  const uint8_t *p = data;
  uint32_t c = UINT32_MAX;

  while (bytes--)
    c = crc_table[(c ^ *p++) & 0xff] ^ (c >> 8);
  return ~c;
}

/* Every word differs from every other, whatever its page: nothing that
 * compresses, no zero page, no page equal to another. */
static uint64_t
word_at (uint64_t page, uint64_t word, uint64_t generation)
{
  uint64_t x = (page * PAGE_WORDS + word) ^ (generation << 40);

  x = (x ^ (x >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C (0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static void
fill_fixed (uint64_t *mem, uint64_t pages, uint64_t *sums)
{
  for (uint64_t page = 0; page < pages; page++, mem += PAGE_WORDS)
    {
      mem[0] = MAGIC;
      mem[1] = page;
      for (size_t i = 2; i < PAGE_WORDS - 1; i++)
        mem[i] = word_at (page, i, 0);
      sums[page] = crc (mem, PAGE_BYTES - sizeof *mem);
      mem[PAGE_WORDS - 1] = sums[page];
    }
}

static void
fill_changing (uint64_t *mem, uint64_t generation)
{
  for (uint64_t page = 0; page < CHANGING_PAGES; page++)
    for (size_t i = 0; i < PAGE_WORDS; i++)
      *mem++ = word_at (page, i, generation);
}

/* The number of the first wrong page, or -1. */
static int64_t
verify_fixed (const uint64_t *mem, uint64_t pages, const uint64_t *sums)
{
  for (uint64_t page = 0; page < pages; page++, mem += PAGE_WORDS)
    {
      uint64_t wrong = (mem[0] ^ MAGIC) | (mem[1] ^ page)
                       | (mem[PAGE_WORDS - 1] ^ sums[page]);

      for (size_t i = 2; i < PAGE_WORDS - 1; i++)
        wrong |= mem[i] ^ word_at (page, i, 0);
      if (wrong)
        return (int64_t) page;
    }
  return -1;
}

static int64_t
verify_changing (const uint64_t *mem, uint64_t generation)
{
  for (uint64_t page = 0; page < CHANGING_PAGES; page++)
    for (size_t i = 0; i < PAGE_WORDS; i++)
      if (*mem++ != word_at (page, i, generation))
        return (int64_t) page;
  return -1;
}

static uint64_t *
map_pages (uint64_t pages)
{
  void *p = mmap (NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

  return p == MAP_FAILED ? NULL : p;
}

static unsigned long
setting (const char *name, unsigned long otherwise)
{
  const char *value = getenv (name);

  return value != NULL ? strtoul (value, NULL, 10) : otherwise;
}

/* One write for a line, so that it cannot be torn by the kernel's own. */
static void
say (const char *line)
{
  ssize_t r = write (STDOUT_FILENO, line, strlen (line));

  (void) r;
}

int
main (void)
{
  const uint64_t pages = setting ("PATTERN_MIB", 96) * 256;
  const unsigned long tick_ms = setting ("TICK_MS", 50);
  const struct timespec pause_time
    = { (time_t) (tick_ms / 1000), (long) (tick_ms % 1000) * 1000000 };
  uint64_t *fixed = map_pages (pages);
  uint64_t *changing = map_pages (CHANGING_PAGES);
  uint64_t *sums = map_pages (pages / PAGE_WORDS + 1);
  char line[128];

  if (fixed == NULL || changing == NULL || sums == NULL)
    {
      say ("guest: no memory for the pattern\n");
      for (;;)
        pause ();
    }
  crc_init ();
  fill_fixed (fixed, pages, sums);
  fill_changing (changing, 0);
  snprintf (line, sizeof line, "guest: ready pages=%llu\n",
            (unsigned long long) pages);
  say (line);

  for (uint64_t tick = 1;; tick++)
    {
      int64_t bad_fixed = verify_fixed (fixed, pages, sums);
      int64_t bad_changing = verify_changing (changing, tick - 1);

      if (bad_fixed < 0 && bad_changing < 0)
        snprintf (line, sizeof line, "guest: tick %llu ok\n",
                  (unsigned long long) tick);
      else
        snprintf (line, sizeof line,
                  "guest: tick %llu BAD fixed=%lld changing=%lld\n",
                  (unsigned long long) tick, (long long) bad_fixed,
                  (long long) bad_changing);
      say (line);
      fill_changing (changing, tick);
      nanosleep (&pause_time, NULL);
    }
}
