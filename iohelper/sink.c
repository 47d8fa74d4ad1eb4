/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sink.c - the destination's policy; see sink.h.
 */
#include <config.h>

#include "iohelper/sink.h"

#include "iohelper/cachemode.h"
#include "iohelper/evidence.h"
#include "iohelper/io.h"
#include "iohelper/tunables.h"

#include <errno.h>
#include <stdint.h>

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080 /* Linux 6.14 */
#endif

void
ioh_sink_init (struct ioh_sink *sink, struct ioh_endpoint *ep, struct ioh_report *report,
               int cache, bool demand_direct, bool truncate_first)
{
  *sink = (struct ioh_sink) {
    .ep = ep,
    .report = report,
    .cache = cache,
    .whole_buffers = ioh_endpoint_is_storage (ep),
    .demand_direct = demand_direct,
    .truncate_first = truncate_first,
    .spare_cached = ep->size > 0 && !truncate_first,
    .window = ep->off,
  };
}

size_t
ioh_sink_want (const struct ioh_sink *sink, size_t buffer_size)
{
  uint64_t odd;

  if (!sink->whole_buffers)
    return buffer_size;
  odd = sink->ep->off % ioh_endpoint_unit (sink->ep);
  return odd ? ioh_endpoint_unit (sink->ep) - odd : buffer_size;
}

static int
failed (struct ioh_sink *sink, const char *operation, int r, const char *hint)
{
  struct ioh_endpoint *ep = sink->ep;

  ioh_failure_errno (&sink->report->failure, ep->end, operation, ep->name, ep->off, -r, hint);
  return -1;
}

/* ---- drop: windowed write-back ---------------------------------------------- */

static int
settle_behind (struct ioh_sink *sink)
{
  int r;

  if (sink->behind_len == 0)
    return 0;
  /* An error here is final: sync_file_range consumes the one that fdatasync
   * would have reported. */
  r = ioh_writeback (sink->ep->fd, sink->behind, sink->behind_len, true);
  if (r < 0)
    return failed (sink, "writing back", r, NULL);
  ioh_drop (sink->ep->fd, sink->behind, sink->behind_len);
  sink->behind_len = 0;
  return 0;
}

static int
close_window (struct ioh_sink *sink)
{
  uint64_t len = sink->ep->off - sink->window;
  int r;

  if (len == 0)
    return 0;
  r = ioh_writeback (sink->ep->fd, sink->window, len, false);
  if (r < 0)
    return failed (sink, "writing back", r, NULL);
  if (settle_behind (sink) < 0)
    return -1;
  if (!sink->window_cached)
    {
      sink->behind = sink->window;
      sink->behind_len = len;
    }
  sink->window = sink->ep->off;
  return 0;
}

/* Pages that somebody had cached before us are not ours to drop. */
static void
look_before (struct ioh_sink *sink)
{
  uint64_t cached = 0, pages;

  sink->window_cached = sink->spare_cached
                        && ioh_cached (sink->ep->fd, sink->window, IOH_DROP_WINDOW, &cached,
                                       &pages) == 0
                        && cached > 0;
}

/* ---- writing ------------------------------------------------------------------ */

/* Storage takes all of a span or fails; ep->off follows what was accepted. */
static int
put (struct ioh_sink *sink, struct ioh_span *span, int flags)
{
  int r = ioh_write_all (sink->ep->fd, span, sink->ep->positional, flags);

  sink->ep->off = span->off;
  return r;
}

static int
put_buffered (struct ioh_sink *sink, struct ioh_span *span)
{
  struct ioh_endpoint *ep = sink->ep;
  int r = ioh_endpoint_set_direct (ep, false);

  if (r < 0)
    return r;
  if (sink->cache != IOH_CACHE_DROP)
    return put (sink, span, 0);
  if (!sink->no_dontcache)
    {
      r = put (sink, span, RWF_DONTCACHE);
      if (r != -EOPNOTSUPP && r != -EINVAL)
        {
          sink->window = ep->off;
          return r;
        }
      sink->no_dontcache = true;
    }
  while (span->len > 0)
    {
      uint64_t room = IOH_DROP_WINDOW - (ep->off - sink->window);
      struct ioh_span part = *span;

      if (ep->off == sink->window)
        look_before (sink);
      if (part.len > room)
        part.len = room;
      r = put (sink, &part, 0);
      ioh_span_advance (span, (size_t) (part.off - span->off));
      if (r < 0)
        return r;
      if (ep->off - sink->window >= IOH_DROP_WINDOW && close_window (sink) < 0)
        return -ECANCELED; /* the failure is set already */
    }
  return 0;
}

/* The aligned middle of a span goes out with O_DIRECT, the rest through the
 * page cache, where the kernel fills up the block from what is there. */
static int
put_direct (struct ioh_sink *sink, struct ioh_span *span)
{
  struct ioh_endpoint *ep = sink->ep;
  uint32_t align = ep->dio_off_align;
  struct ioh_span body = *span;
  int r;

  if (span->off % align == 0 && span->len >= align
      && (uintptr_t) span->ptr % ep->dio_mem_align == 0)
    {
      body.len -= body.len % align;
      r = ioh_endpoint_set_direct (ep, true);
      if (r == 0)
        r = put (sink, &body, 0);
      ioh_span_advance (span, (size_t) (body.off - span->off));
      if (r == -EINVAL && !sink->demand_direct)
        {
          /* In mid-stream a save with cached pages is better than no save. */
          sink->cache = ioh_cachemode_fall_back (ep, sink->report, EINVAL);
          sink->window = ep->off;
          ioh_report_warn (sink->report, "%s", sink->report->cache_why);
          return put_buffered (sink, span);
        }
      if (r < 0)
        return r;
      sink->demand_direct = false;
    }
  if (span->len == 0)
    return 0;
  return put_buffered (sink, span);
}

static int
cut_old_content (struct ioh_sink *sink)
{
  int r;

  if (!sink->truncate_first)
    return 0;
  sink->truncate_first = false;
  sink->touched = true;
  r = ioh_truncate (sink->ep->fd, sink->ep->off);
  return r < 0 ? failed (sink, "truncating", r, NULL) : 0;
}

int
ioh_sink_write (struct ioh_sink *sink, const void *buf, size_t len)
{
  struct ioh_span span = { buf, len, sink->ep->off };
  int r;

  if (cut_old_content (sink) < 0)
    return -1;
  sink->touched = true;
  if (sink->cache == IOH_CACHE_DIRECT)
    r = put_direct (sink, &span);
  else if (ioh_endpoint_is_storage (sink->ep))
    r = put_buffered (sink, &span);
  else
    r = put (sink, &span, 0);
  return r < 0 ? failed (sink, "writing", r, NULL) : 0;
}

int
ioh_sink_end (struct ioh_sink *sink)
{
  return cut_old_content (sink);
}

/* The head and the tail of a direct save went through the page cache, and the
 * end of any save may have been read back for its evidence. */
static void
drop_ends (struct ioh_sink *sink)
{
  struct ioh_endpoint *ep = sink->ep;
  uint32_t unit = ioh_endpoint_unit (ep);
  uint64_t from = ep->off > ep->start + IOH_EVIDENCE_TAIL ? ep->off - IOH_EVIDENCE_TAIL : ep->start;

  ioh_drop (ep->fd, ep->start - ep->start % unit, unit);
  from -= from % unit;
  ioh_drop (ep->fd, from, ep->off - from + unit);
}

int
ioh_sink_sync (struct ioh_sink *sink, enum ioh_sync sync)
{
  struct ioh_endpoint *ep = sink->ep;
  int r = 0;

  if (sync != IOH_SYNC_NONE)
    r = ioh_sync (ep->fd, sync == IOH_SYNC_DATA, &sink->report->synced);
  if (r < 0)
    return failed (sink, "syncing", r, NULL);
  if (sink->cache == IOH_CACHE_KEEP || !ioh_endpoint_is_storage (ep))
    return 0;
  if (sink->cache == IOH_CACHE_DROP && (close_window (sink) < 0 || settle_behind (sink) < 0))
    return -1;
  if (sink->cache == IOH_CACHE_DIRECT || !sink->spare_cached)
    drop_ends (sink);
  return 0;
}
