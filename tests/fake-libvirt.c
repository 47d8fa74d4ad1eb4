/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-libvirt.c - a save image as libvirt writes it: a 92-byte header in the
 * machine's own byte order, the domain's XML and a cookie, then the stream of
 * QEMU or of the program that compresses it.
 *
 * Owner: tests/fake-stream.c.
 */
#include <config.h>

#include "tests/fake-build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_BYTES 16
#define UNUSED_WORDS 14
#define GZIP 1

static void
put_xml (struct fake_bytes *b, const struct fake_spec *spec)
{
  fake_put_format (b,
                   "<domain type='qemu'>\n  <name>fake</name>\n  <uuid>%08" PRIx32 "-0000-4000-8000-%012" PRIx64
                   "</uuid>\n  <memory unit='bytes'>%" PRIu64 "</memory>\n  <vcpu>1</vcpu>\n",
                   (uint32_t) (spec->seed >> 48), spec->seed & UINT64_C (0xffffffffffff), spec->size);
  fake_put_text (b, "  <os>\n    <type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type>\n  </os>\n  <devices>\n");
  for (unsigned i = 0; i < 24; i++)
    fake_put_format (b,
                     "    <controller type='pci' index='%u' model='pcie-root-port'>\n"
                     "      <alias name='pci.%u'/>\n    </controller>\n",
                     i, i);
  fake_put_text (b, "  </devices>\n</domain>\n");
  fake_put_u8 (b, 0);
}

static void
put_header (struct fake_bytes *b, const struct fake_spec *spec, size_t data_len, size_t cookie_at)
{
  fake_put (b, spec->final ? "LibvirtQemudSave" : "LibvirtQemudPart", MAGIC_BYTES);
  fake_put_u32 (b, 2);
  fake_put_u32 (b, (uint32_t) data_len);
  fake_put_u32 (b, 1); /* was running */
  fake_put_u32 (b, spec->compressed ? GZIP : 0);
  fake_put_u32 (b, (uint32_t) cookie_at);
  fake_put_zeros (b, UNUSED_WORDS * 4);
}

bool
fake_libvirt_build (struct fake_stream *s, struct fake_bytes *head, struct fake_bytes *tail, uint64_t *least)
{
  struct fake_bytes data = { 0 };
  size_t cookie_at;

  put_xml (&data, &s->spec);
  cookie_at = data.len;
  fake_put_text (&data, "<qemusavecookie>\n  <slirpHelper/>\n</qemusavecookie>\n");
  fake_put_zeros (&data, 5); /* the string's end and padding */
  put_header (head, &s->spec, data.len, cookie_at);
  fake_mark (s, head->len);
  fake_mark (s, head->len + cookie_at);
  fake_put (head, data.ptr, data.len);
  fake_mark (s, head->len);
  free (data.ptr);
  if (!s->spec.compressed)
    return fake_qemu_build (s, head, tail, least);

  s->body = FAKE_BODY_WORDS;
  *least = head->len + 1;
  if (s->spec.size < *least)
    return false;
  s->body_len = s->spec.size - head->len;
  return true;
}
