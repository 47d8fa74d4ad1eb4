/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sink.h - writes the stream to the destination: direct with an exact head and
 * tail, buffered and dropped, or plain.
 *
 * Owner: the worker.  Invariant: after every call ep->off is the first byte
 * that the destination has not accepted; nothing past the stream's end is ever
 * written, not even for an instant.
 */
#ifndef IOH_SINK_H
#define IOH_SINK_H

#include "iohelper/endpoint.h"
#include "iohelper/report.h"

struct ioh_sink
{
  struct ioh_endpoint *ep;
  struct ioh_report *report;
  int cache;             /* enum ioh_cache, never AUTO */
  bool whole_buffers;    /* gather full buffers (storage); else pass on at once */
  bool truncate_first;   /* in place: cut the old content when the first byte comes */
  bool touched;          /* the destination was changed */
  bool demand_direct;    /* the first byte must go out direct, or fail */
  bool no_dontcache;     /* RWF_DONTCACHE was refused */
  bool spare_cached;     /* the file had content: pages cached before stay */
  uint64_t window;       /* drop: start of the window being filled */
  bool window_cached;    /* drop: its pages were in the cache before us */
  uint64_t behind;       /* drop: start of the window being written back */
  uint64_t behind_len;   /* bytes, 0: none */
};

void ioh_sink_init (struct ioh_sink *sink, struct ioh_endpoint *ep, struct ioh_report *report,
                    int cache, bool demand_direct, bool truncate_first);

/* How many bytes the next write should have, BUFFER_SIZE at most: the first
 * one fills up to the alignment where the file's offset is odd. */
size_t ioh_sink_want (const struct ioh_sink *sink, size_t buffer_size);

/* Writes all of BUF.  A length other than ioh_sink_want() before the stream's
 * end costs direct I/O, not bytes.  0, or -1 with the failure set. */
int ioh_sink_write (struct ioh_sink *sink, const void *buf, size_t len);

/* End of the stream: an empty stream still cuts the old content. */
int ioh_sink_end (struct ioh_sink *sink);

/* Makes the data (and with FULL the metadata) durable, then lets go of the
 * pages that --cache=drop promised to.  0, or -1 with the failure set. */
int ioh_sink_sync (struct ioh_sink *sink, enum ioh_sync sync);

#endif
