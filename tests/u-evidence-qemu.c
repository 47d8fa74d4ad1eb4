/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * u-evidence-qemu.c - the ends that QEMU's streams have, and what only looks
 * like one.
 */
#include <config.h>

#include "tests/evidence-stream.h"

static void
check_qemu_ends (void)
{
  unsigned missed = 0;
  size_t eof;

  make_qemu (SIZE_MAX);
  eof = used;
  is_str (verdict (IOH_REQUIRE_AUTO), "proven", "a QEMU stream without a description is whole");
  is_int (cuts_taken (4), 0, "... and cut at any byte it is not");
  make_qemu (0);
  is_str (verdict (IOH_REQUIRE_QEMU), "proven", "a QEMU stream with its description is whole");
  is_int (cuts_taken (4), 1, "... and cut at any byte but one it is not");
  ok (judge (IOH_REQUIRE_AUTO, eof, NULL).whole,
      "... that one being behind the end-of-stream section, where QEMU can load it");
  put ("\n", 1);
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a byte behind the description is not QEMU's end");
  make_qemu (300000);
  is_str (verdict (IOH_REQUIRE_AUTO), "proven", "a description of 300 kB is found");
  for (unsigned i = 0; i < 100; i++)
    {
      make_qemu (65536 - 80 + i);
      missed += !judge (IOH_REQUIRE_AUTO, used, NULL).proven;
      make_section (65536 - 50 + i);
      missed += !judge (IOH_REQUIRE_AUTO, used, NULL).proven;
    }
  is_int (missed, 0, "one of any length near 64 KiB is found, and so is a section");
  make_qemu (IOH_EVIDENCE_TAIL - 100);
  is_str (verdict (IOH_REQUIRE_AUTO), "proven", "one just below 4 MiB is found");
  make_qemu (IOH_EVIDENCE_TAIL);
  is_str (verdict (IOH_REQUIRE_AUTO), "undecided", "one above 4 MiB cannot be judged");
  is_str (verdict (IOH_REQUIRE_QEMU), "cut", "... which --require=qemu does not take");
}

/* The section "gpu": 5 bytes of type and id, the name's length, the name, the
 * instance, the version.  The footer alone is the same each time. */
static void
check_damaged_sections (void)
{
  static const struct { unsigned at; unsigned char byte; const char *what; } rows[] = {
    { 0, 5, "another type" },      { 4, 8, "another id" },         { 5, 0, "no name" },
    { 6, 7, "an odd name" },       { 5, 250, "a name too long" },  { 13, 1, "an absurd version" },
  };

  for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
    {
      make_section (40);
      memset (stream + used - 46, 'x', 40); /* a name can be as long as it likes */
      stream[used - 46 - 17 + rows[i].at] = rows[i].byte;
      is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a section with %s is not the footer's",
              rows[i].what);
    }
  make_section (40);
  memset (stream + used - 46 - 11, 'x', 51);
  stream[used - 46 - 12] = 51;
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a name that leaves no room is none");
}

static void
check_qemu_lookalikes (void)
{
  static const char *const texts[] = {
    "{\"name\": [1]", "{}{\"devices\": []", "{\"devices\": [", "\"devices\": {",
  };

  for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++)
    {
      make_qemu (SIZE_MAX);
      put_description (texts[i], 0);
      is_str (verdict (IOH_REQUIRE_AUTO), "cut", "'%s}' is no description of QEMU", texts[i]);
    }
  make_qemu (SIZE_MAX);
  put_fill (4096, 'x');
  put ("\176\0\0\0\0\0", 6);
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a footer of no section is no end");
  make_qemu (SIZE_MAX);
  put_fill (4096, 'x');
  put ("\176\0\0\0\1\0", 6);
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a footer of an earlier section is no end");
  check_damaged_sections ();
  for (unsigned i = 0; i < 6; i++)
    {
      make_qemu (0);
      stream[used - sizeof DESCRIPTION - 1 - i]++;
      is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a description is none if byte %u of its header "
              "is wrong", 5 - i);
    }
  make_qemu (100);
  stream[used - 50] = 1;
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a description has no control characters");
  make_qemu (100);
  stream[used - 1] = ' ';
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a description ends in a brace");
}

static void
check_qemu_kinds (void)
{
  used = 0;
  begin_qemu (3, false);
  put_fill (200, 0);
  is_str (verdict (IOH_REQUIRE_AUTO), "undecided", "an old machine type's end cannot be judged");
  is_str (verdict (IOH_REQUIRE_QEMU), "cut", "... which --require=qemu does not take");
  put_description (DESCRIPTION, 0);
  is_str (verdict (IOH_REQUIRE_AUTO), "proven", "with a description it can");
  used--;
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "... and without its last byte it is cut");
  used = 0;
  begin_qemu (3, true);
  put_fill (200, 0);
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "zeros at the end of another type are no end");
  used = 0;
  begin_qemu (2, false);
  put_section (9, "timer", 8);
  put ("\0", 1);
  is_str (verdict (IOH_REQUIRE_AUTO), "proven", "version 2 is known");
  stream[7] = 4;
  is_str (verdict (IOH_REQUIRE_AUTO), "undecided", "version 4 cannot be judged");
  make_section (IOH_EVIDENCE_TAIL);
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a last section of 4 MiB is not found");
}

int
main (void)
{
  check_qemu_ends ();
  check_qemu_lookalikes ();
  check_qemu_kinds ();
  is_int (strays, 0, "nothing outside the first and the last bytes was asked for");
  return done_testing ();
}
