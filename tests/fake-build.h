/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-build.h - what the makers of the several kinds of stream share: bytes
 * that grow while they are put together, and words made from their index.
 *
 * Owner: tests/fake-stream.c.  Memory that runs out ends the program.
 */
#ifndef FAKE_BUILD_H
#define FAKE_BUILD_H

#include "tests/fake-stream.h"

struct fake_bytes
{
  unsigned char *ptr;
  size_t len, cap;
};

void fake_put (struct fake_bytes *b, const void *data, size_t len);
void fake_put_text (struct fake_bytes *b, const char *text); /* without its NUL */
void fake_put_format (struct fake_bytes *b, const char *format, ...)
  __attribute__ ((format (printf, 2, 3)));
void fake_put_zeros (struct fake_bytes *b, size_t len);
void fake_put_u8 (struct fake_bytes *b, unsigned v);
void fake_put_be32 (struct fake_bytes *b, uint32_t v);
void fake_put_be64 (struct fake_bytes *b, uint64_t v);

/* In the byte order of this machine, as libvirt and QEMU's ELF cores have it. */
void fake_put_u16 (struct fake_bytes *b, uint16_t v);
void fake_put_u32 (struct fake_bytes *b, uint32_t v);
void fake_put_u64 (struct fake_bytes *b, uint64_t v);

/* Bytes POS .. POS + LEN - 1 of the endless row of words that KEY selects. */
void fake_words (uint64_t key, uint64_t pos, unsigned char *buf, size_t len);
void fake_put_words (struct fake_bytes *b, uint64_t key, size_t len);

/* A write ends at OFF of the stream. */
void fake_mark (struct fake_stream *s, uint64_t off);

/* Head, body and tail of a kind, for s->spec.size bytes in all; FALSE with the
 * least size in *LEAST.  HEAD may hold something already. */
bool fake_qemu_build (struct fake_stream *s, struct fake_bytes *head, struct fake_bytes *tail, uint64_t *least);
bool fake_libvirt_build (struct fake_stream *s, struct fake_bytes *head, struct fake_bytes *tail, uint64_t *least);
bool fake_elf_build (struct fake_stream *s, struct fake_bytes *head, struct fake_bytes *tail, uint64_t *least);

/* One piece of a body at offset OFF of that body; with BUF its bytes from OFF
 * on, at most LEN of them. */
struct fake_piece fake_ram_piece (const struct fake_stream *s, uint64_t off, unsigned char *buf, size_t len);
struct fake_piece fake_pages_piece (const struct fake_stream *s, uint64_t off, unsigned char *buf, size_t len);

#endif
