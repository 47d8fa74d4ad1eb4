/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * source.c - the source's policy; see source.h.
 */
#include <config.h>

#include "iohelper/source.h"

#include "iohelper/cachemode.h"
#include "iohelper/io.h"
#include "iohelper/tunables.h"

#include <errno.h>

void
ioh_source_init (struct ioh_source *source, struct ioh_endpoint *ep, struct ioh_report *report,
                 int cache, bool use_cached, bool demand_direct)
{
  *source = (struct ioh_source) {
    .ep = ep,
    .report = report,
    .cache = cache,
    .use_cached = use_cached,
    .demand_direct = demand_direct,
  };
  /* Readahead would fill the cache with what is read direct, and its pages
   * would pass for somebody else's when they are to be dropped. */
  if (ioh_endpoint_is_storage (ep) && cache != IOH_CACHE_KEEP)
    ioh_no_readahead (ep->fd);
}

/* True when all pages of the range are in the page cache. */
static bool
is_cached (struct ioh_endpoint *ep, size_t len, bool any)
{
  uint64_t cached, pages, left = ep->size > ep->off ? ep->size - ep->off : 0;

  if (len > left)
    len = (size_t) left;
  if (len == 0 || ioh_cached (ep->fd, ep->off, len, &cached, &pages) < 0)
    return false;
  return any ? cached > 0 : cached == pages;
}

static ssize_t
get (struct ioh_source *source, void *buf, size_t len)
{
  struct ioh_endpoint *ep = source->ep;
  ssize_t n = ioh_read (ep->fd, buf, len, ep->positional, ep->off);

  if (n > 0)
    ep->off += (uint64_t) n;
  return n;
}

static ssize_t
get_direct (struct ioh_source *source, void *buf, size_t len)
{
  struct ioh_endpoint *ep = source->ep;
  uint32_t align = ep->dio_off_align;
  uint64_t odd = ep->off % align;
  ssize_t n;
  int r;

  if (odd == 0 && len > align)
    len -= len % align;
  if (odd != 0 || len % align != 0 || (source->use_cached && is_cached (ep, len, false)))
    {
      /* A short read ended at an odd offset (mostly the end of the file), or
       * the bytes are in the cache: the page cache serves any offset. */
      uint64_t start = ep->off;

      if (odd != 0 && len > align - odd)
        len = align - odd;
      r = ioh_endpoint_set_direct (ep, false);
      if (r < 0)
        return r;
      n = get (source, buf, len);
      if (n > 0 && odd == 0)
        source->cached_bytes += ep->off - start;
      return n;
    }
  r = ioh_endpoint_set_direct (ep, true);
  if (r < 0)
    return r;
  n = get (source, buf, len);
  if (n == -EINVAL && !source->demand_direct)
    {
      source->cache = ioh_cachemode_fall_back (ep, source->report, EINVAL);
      ioh_report_warn (source->report, "%s", source->report->cache_why);
      return get (source, buf, len);
    }
  if (n > 0)
    source->demand_direct = false;
  return n;
}

static ssize_t
get_and_drop (struct ioh_source *source, void *buf, size_t len)
{
  struct ioh_endpoint *ep = source->ep;
  bool before = is_cached (ep, len, true);
  uint64_t off = ep->off;
  ssize_t n = get (source, buf, len);

  if (n > 0 && !before)
    ioh_drop (ep->fd, off - off % IOH_DIRECT_ALIGN, (uint64_t) n + off % IOH_DIRECT_ALIGN);
  return n;
}

ssize_t
ioh_source_read (struct ioh_source *source, void *buf, size_t len)
{
  struct ioh_endpoint *ep = source->ep;
  ssize_t n;

  if (!ioh_endpoint_is_storage (ep))
    n = get (source, buf, len);
  else if (source->cache == IOH_CACHE_DIRECT)
    n = get_direct (source, buf, len);
  else if (source->cache == IOH_CACHE_DROP)
    n = get_and_drop (source, buf, len);
  else
    n = get (source, buf, len);
  if (n < 0)
    {
      ioh_failure_errno (&source->report->failure, ep->end, "reading", ep->name, ep->off,
                         (int) -n, NULL);
      return -1;
    }
  return n;
}
