/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * u-evidence.c - formats by their first bytes, what is required of them, libvirt
 * images, a tail that cannot be read, damaged streams.
 */
#include <config.h>

#include "tests/evidence-stream.h"

static void
make_libvirt (const char *magic, uint32_t version, uint32_t xml, uint32_t compressed, bool big)
{
  unsigned char *body;
  size_t len;

  make_qemu (0);
  len = used;
  body = malloc (len);
  if (!body)
    bail_out ("out of memory");
  memcpy (body, stream, len);
  used = 0;
  put (magic, 16);
  put_number (version, 4, big);
  put_number (xml, 4, big);
  put_number (1, 4, big);
  put_number (compressed, 4, big);
  put_fill (60, 0);
  put_fill (xml < 1000000 ? xml : 0, '<');
  put (body, len);
  free (body);
}

static void
check_libvirt (void)
{
  static const struct
  {
    const char *magic;
    uint32_t version, xml, compressed;
    const char *auto_verdict, *what;
  } rows[] = {
    { "LibvirtQemudPart", 2, 70000, 0, "proven", "an image not yet marked" },
    { "LibvirtQemudSave", 2, 70000, 0, "proven", "a marked image" },
    { "LibvirtQemudSave", 1, 500, 0, "proven", "version 1" },
    { "LibvirtQemudSave", 2, 900000, 0, "proven", "one with 900 kB of XML" },
    { "LibvirtQemudSave", 2, 70000, 1, "whole", "a compressed image" },
    { "LibvirtQemudSave", 3, 70000, 6, "whole", "a sparse image" },
    { "LibvirtQemudSave", 2, 0, 0, "cut", "one without XML" },
    { "LibvirtQemudSave", 2, UINT32_MAX, 1, "cut", "one with an absurd length" },
    { "LibvirtQemudSave", 2, 1000000, 1, "cut", "one that ends before its XML does" },
    { "LibvirtQemudSave", 0x10203, 500, 0, "cut", "one of an absurd version" },
  };

  for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int big = 0; big < 2; big++)
      {
        make_libvirt (rows[i].magic, rows[i].version, rows[i].xml, rows[i].compressed, big);
        is_str (verdict (IOH_REQUIRE_AUTO), rows[i].auto_verdict, "libvirt, %s: %s (%s-endian)",
                rows[i].what, rows[i].auto_verdict, big ? "big" : "little");
      }
  make_libvirt ("LibvirtQemudSave", 2, 70000, 1, false);
  is_str (verdict (IOH_REQUIRE_LIBVIRT), "whole", "--require=libvirt takes a compressed image");
  make_libvirt ("LibvirtQemudSave", 2, UINT32_MAX, 1, false);
  ok (!judge (IOH_REQUIRE_AUTO, UINT64_C (5) << 30, NULL).whole,
      "an XML of 4 GiB is not believed even if there is room for it");
  make_libvirt ("LibvirtQemudPart", 2, 500, 0, false);
  is_int (cuts_taken (4), 1, "a libvirt image cut at any byte is not whole, but behind the "
          "end-of-stream section");
  stream[92 + 500] ^= 1;
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "an image without QEMU's magic is not whole");
}

static void
check_words (void)
{
  is_int (ioh_format_of ("QEVM", 4), IOH_FORMAT_QEMU, "QEVM is a QEMU stream");
  is_int (ioh_format_of ("QEV", 3), IOH_FORMAT_UNKNOWN, "three bytes of it are not");
  is_int (ioh_format_of ("LibvirtQemudSavx", 16), IOH_FORMAT_UNKNOWN, "a near miss is not libvirt");
  is_int (ioh_format_of ("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0", 18), IOH_FORMAT_ELF, "a core is");
  is_int (ioh_format_of ("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0", 18), IOH_FORMAT_UNKNOWN,
          "a program is of unknown format");
  is_str (ioh_format_word (IOH_FORMAT_LIBVIRT), "libvirt", "formats have words");
  used = 0;
  is_str (verdict (IOH_REQUIRE_AUTO), "whole", "an empty stream is whole by its end of file");
  is_str (verdict (IOH_REQUIRE_ELF), "cut", "... but no ELF core");
  put ("LibvirtQ", 8);
  is_str (verdict (IOH_REQUIRE_AUTO), "cut", "a stream that ends in its magic is cut");
  is_str (verdict (IOH_REQUIRE_NONE), "whole", "... which --require=none does not look at");
}

static void
check_errors (void)
{
  static const int errors[] = { EIO, ENODATA };
  struct ioh_verdict v;
  int e;

  for (unsigned i = 0; i < 2; i++)
    {
      make_qemu (IOH_EVIDENCE_HEAD);
      reader_errno = errors[i];
      v = judge (IOH_REQUIRE_AUTO, used, &e);
      is_int (e, -errors[i], "a tail that cannot be read is that error");
      ok (!v.whole && !v.proven, "... and nothing is said to be whole");
      reader_errno = 0;
    }
}

static void
check_garbage (void)
{
  unsigned wrong = 0;

  for (unsigned i = 0; i < 30000; i++)
    {
      static const unsigned char nasty[] = { 0, 1, 4, 6, 0x7e, 0x7f, 0x80, 0xfe, 0xff, '{', '}' };
      struct ioh_verdict v;

      if (i % 2)
        make_libvirt ("LibvirtQemudPart", 2, draw () % 300, draw () % 8 == 0, i % 4 == 1);
      else
        make_qemu (draw () % 3 ? 0 : SIZE_MAX);
      for (uint32_t n = 1 + draw () % 6; n > 0; n--)
        stream[draw () % used] = draw () % 2 ? nasty[draw () % sizeof nasty]
                                             : (unsigned char) draw ();
      v = judge (IOH_REQUIRE_AUTO, draw () % 4 ? used : draw () % (used + 1), NULL);
      wrong += (v.proven && (!v.whole || v.undecided)) || !memchr (v.why, 0, sizeof v.why);
    }
  is_int (wrong, 0, "30000 damaged streams get consistent verdicts");
}

int
main (void)
{
  check_words ();
  check_libvirt ();
  check_errors ();
  check_garbage ();
  is_int (strays, 0, "nothing outside the first and the last bytes was asked for");
  return done_testing ();
}
