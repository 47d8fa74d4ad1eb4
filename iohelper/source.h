/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * source.h - reads the stream from its source: from the page cache what is
 * there already, direct what is not, or buffered and dropped, or plain.
 *
 * Owner: the worker.  Invariant: ep->off is the first byte not read; end of
 * file is told only by a read of 0 or, after a short read at an odd offset, by
 * the file's length; an error is never an end of file.
 */
#ifndef IOH_SOURCE_H
#define IOH_SOURCE_H

#include "iohelper/endpoint.h"
#include "iohelper/report.h"

/* A write of at most PIPE_BUF bytes is one packet, a longer one several. */
#define IOH_PACKET_MAX 4096

struct ioh_source
{
  struct ioh_endpoint *ep;
  struct ioh_report *report;
  int cache;             /* enum ioh_cache, never AUTO */
  bool use_cached;       /* direct: what the cache holds is read from there */
  bool exact;            /* the next read must not take more than is asked for */
  size_t kept_len;       /* bytes of a packet that did not fit the last read */
  unsigned char kept[IOH_PACKET_MAX];
  bool demand_direct;    /* the first byte must come in direct, or fail */
};

void ioh_source_init (struct ioh_source *source, struct ioh_endpoint *ep,
                      struct ioh_report *report, int cache, bool use_cached, bool demand_direct);

/* Reads at most LEN bytes into BUF.  Returns the count, 0 at end of file, or -1
 * with the failure set.  Direct reads need BUF aligned; where it is not, the
 * page cache serves. */
ssize_t ioh_source_read (struct ioh_source *source, void *buf, size_t len);

/* False when reading on at buffer + HAVE would be out of alignment. */
bool ioh_source_is_aligned (const struct ioh_source *source, size_t have);

#endif
