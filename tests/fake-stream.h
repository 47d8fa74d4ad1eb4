/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-stream.h - streams shaped like those of a hypervisor, made from numbers.
 *
 * Owner: tests/fake-vm.  Invariant: a byte is a function of the specification
 * and of its offset alone, so a checker in another process needs no copy and
 * no history, and any part of a stream can be made without what precedes it.
 */
#ifndef FAKE_STREAM_H
#define FAKE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fake_kind
{
  FAKE_PLAIN,
  FAKE_QEMU,
  FAKE_LIBVIRT,
  FAKE_ELF
};

struct fake_spec
{
  enum fake_kind kind;
  uint64_t seed;
  uint64_t size;   /* bytes of the whole stream */
  bool no_vmdesc;  /* qemu, libvirt: as -machine suppress-vmdesc=on */
  bool final;      /* libvirt: the header says that the image is whole */
  bool compressed; /* libvirt: the header says gzip; the body is plain */
};

#define FAKE_PAGE_BYTES 4096

/* More than the shapes below need; see fake_mark(). */
#define FAKE_MARKS_MAX 16

/* A stream is HEAD, then a body that is computed when asked for, then TAIL. */
struct fake_stream
{
  struct fake_spec spec;
  uint64_t key; /* of the body's words */
  unsigned char *head, *tail;
  size_t head_len, tail_len;
  uint64_t body_len;
  enum
  {
    FAKE_BODY_WORDS, /* words by their offset in the stream */
    FAKE_BODY_RAM,   /* QEMU's RAM sections */
    FAKE_BODY_PAGES  /* guest pages one after the other */
  } body;
  uint64_t marks[FAKE_MARKS_MAX]; /* offsets in HEAD where a write ends */
  unsigned n_marks;
};

/* What a hypervisor hands to the kernel as one piece. */
struct fake_piece
{
  size_t len;
  bool by_reference; /* a guest page: an iovec of its own, not a buffered copy */
  bool flush;        /* the write ends behind it */
};

/* 0, or -1 with the reason in WHY: the size is too small for the kind. */
int fake_stream_init (struct fake_stream *s, const struct fake_spec *spec, char *why, size_t why_len);
void fake_stream_free (struct fake_stream *s);

/* LEN bytes from offset OFF on; all of them lie within the stream. */
void fake_stream_fill (const struct fake_stream *s, uint64_t off, void *buf, size_t len);

/* The piece that begins at, or goes on from, OFF, which lies within the stream. */
struct fake_piece fake_stream_piece (const struct fake_stream *s, uint64_t off);

#endif
