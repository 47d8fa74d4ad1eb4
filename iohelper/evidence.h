/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * evidence.h - tells from a stream's first and last bytes whether it is whole.
 *
 * End of file alone cannot tell a finished producer from a killed one, so a
 * stream that begins with a known magic must also end as that format ends.
 * Owner: the worker.  Invariant: hostile bytes are only ever compared; what
 * cannot be recognised is never called proven.
 */
#ifndef IOH_EVIDENCE_H
#define IOH_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes kept of the beginning: libvirt pads its XML by 64 KiB, so that the
 * stream behind it begins at 70 to 150 KiB. */
#define IOH_EVIDENCE_HEAD ((size_t) 256 << 10)
/* Bytes that can be asked for at the end: QEMU's closing description has 15 to
 * 100 KiB and grows with the number of devices. */
#define IOH_EVIDENCE_TAIL ((size_t) 4 << 20)
/* Bytes that decide the format: an ELF file is a core by bytes 16 and 17. */
#define IOH_EVIDENCE_MAGIC ((size_t) 18)

enum ioh_format { IOH_FORMAT_UNKNOWN, IOH_FORMAT_QEMU, IOH_FORMAT_LIBVIRT, IOH_FORMAT_ELF };

enum ioh_require
{
  IOH_REQUIRE_AUTO,
  IOH_REQUIRE_NONE,
  IOH_REQUIRE_QEMU,
  IOH_REQUIRE_LIBVIRT,
  IOH_REQUIRE_ELF
};

struct ioh_verdict
{
  enum ioh_format format;
  bool whole;      /* may be committed */
  bool proven;     /* the format's own end was recognised */
  bool undecided;  /* it could not be judged: whole where nothing is required,
                    * not whole where the format is */
  char why[160];   /* when not whole, or undecided: a clause for the message */
};

/* Reads LEN bytes of the stream at OFF; the count or -errno, -ENODATA for a
 * range that is not at hand. */
typedef ssize_t ioh_read_at (void *ctx, void *buf, size_t len, uint64_t off);

/* A stream to judge. */
struct ioh_stream
{
  const unsigned char *head;
  size_t head_len;   /* min (total, IOH_EVIDENCE_HEAD) */
  uint64_t total;    /* bytes */
  ioh_read_at *read_at;
  void *ctx;
};

/* By its magic, of which at least 4 bytes must be there. */
enum ioh_format ioh_format_of (const void *head, size_t len);
const char *ioh_format_word (enum ioh_format format);

/* Judges a stream.  0, or -errno when the tail could not be read. */
int ioh_evidence_check (enum ioh_require require, const void *head, size_t head_len,
                        uint64_t total, ioh_read_at *read_at, void *ctx,
                        struct ioh_verdict *verdict);

/* The formats' own judges; START is where a QEMU stream begins. */
int ioh_evidence_qemu (const struct ioh_stream *s, uint64_t start, struct ioh_verdict *verdict);
int ioh_evidence_libvirt (const struct ioh_stream *s, struct ioh_verdict *verdict);
int ioh_evidence_elf (const struct ioh_stream *s, struct ioh_verdict *verdict);

/* The verdict that there is none, for the reason given. */
void ioh_verdict_undecided (struct ioh_verdict *verdict, const char *format, ...)
  __attribute__ ((format (printf, 2, 3)));

/* Exactly LEN bytes at OFF.  0 or -errno; -ENODATA outside the stream, and
 * outside head and tail even where read_at could reach them: a hostile table
 * must not make the check a second pass over the data. */
int ioh_stream_get (const struct ioh_stream *s, void *buf, size_t len, uint64_t off);

#endif
