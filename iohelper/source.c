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
#include <string.h>

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

enum presence { ABSENT, SOME, ALL };

/* How much of the next LEN bytes is in the page cache. */
static enum presence
presence_of (struct ioh_endpoint *ep, size_t len)
{
  uint64_t cached, pages, left = ep->size > ep->off ? ep->size - ep->off : 0;

  if (len > left)
    len = (size_t) left;
  if (len == 0 || ioh_cached (ep->fd, ep->off, len, &cached, &pages) < 0 || cached == 0)
    return ABSENT;
  return cached == pages ? ALL : SOME;
}

/* Pages that were not there before the N bytes from OFF on were read. */
static void
drop_ours (struct ioh_endpoint *ep, enum presence before, uint64_t off, ssize_t n)
{
  uint64_t odd = off % IOH_DIRECT_ALIGN;

  if (n > 0 && before == ABSENT)
    ioh_drop (ep->fd, off - odd, (uint64_t) n + odd);
}

bool
ioh_source_is_aligned (const struct ioh_source *source, size_t have)
{
  return source->cache != IOH_CACHE_DIRECT || have % ioh_endpoint_unit (source->ep) == 0;
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

/* The page cache serves any offset and any memory. */
static ssize_t
get_buffered (struct ioh_source *source, void *buf, size_t len)
{
  struct ioh_endpoint *ep = source->ep;
  uint64_t odd = ep->off % ep->dio_off_align;
  int r = ioh_endpoint_set_direct (ep, false);

  if (r < 0)
    return r;
  if (odd != 0 && len > ep->dio_off_align - odd)
    len = (size_t) (ep->dio_off_align - odd);
  return get (source, buf, len);
}

static ssize_t
get_direct (struct ioh_source *source, void *buf, size_t len)
{
  struct ioh_endpoint *ep = source->ep;
  uint32_t align = ep->dio_off_align;
  uint64_t off = ep->off;
  enum presence before;
  bool fits;
  ssize_t n;
  int r;

  if (off % align == 0 && len > align)
    len -= len % align;
  /* A short read ends at an odd offset, mostly the end of the file. */
  fits = off % align == 0 && len % align == 0 && (uintptr_t) buf % ep->dio_mem_align == 0;
  before = presence_of (ep, len);
  if (!fits || (source->use_cached && before == ALL))
    n = get_buffered (source, buf, len);
  else
    {
      r = ioh_endpoint_set_direct (ep, true);
      if (r < 0)
        return r;
      n = get (source, buf, len);
      if (n == -EINVAL && !source->demand_direct)
        {
          source->cache = ioh_cachemode_fall_back (ep, source->report, EINVAL);
          ioh_no_readahead (ep->fd);
          ioh_report_warn (source->report, "%s", source->report->cache_why);
          n = get (source, buf, len);
        }
      if (n > 0)
        source->demand_direct = false;
    }
  /* Also after a direct read: btrfs serves inline and compressed extents
   * through the page cache. */
  drop_ours (ep, before, off, n);
  return n;
}

static ssize_t
get_and_drop (struct ioh_source *source, void *buf, size_t len)
{
  struct ioh_endpoint *ep = source->ep;
  enum presence before = presence_of (ep, len);
  uint64_t off = ep->off;
  ssize_t n = get (source, buf, len);

  drop_ours (ep, before, off, n);
  return n;
}

/* A pipe may be in packet mode, of which only its writer's end knows, and drops
 * what a read leaves of a packet.  So the last bytes of a buffer are filled from
 * a whole packet, and what does not fit is kept for the next read. */
static ssize_t
get_from_pipe (struct ioh_source *source, void *buf, size_t len)
{
  struct ioh_endpoint *ep = source->ep;

  if (source->kept_len == 0 && (len >= IOH_PACKET_MAX || source->exact))
    return get (source, buf, len);
  if (source->kept_len == 0)
    {
      ssize_t n = ioh_read (ep->fd, source->kept, sizeof source->kept, false, 0);
      if (n <= 0)
        return n;
      source->kept_len = (size_t) n;
    }
  if (len > source->kept_len)
    len = source->kept_len;
  memcpy (buf, source->kept, len);
  source->kept_len -= len;
  memmove (source->kept, source->kept + len, source->kept_len);
  ep->off += len;
  return (ssize_t) len;
}

ssize_t
ioh_source_read (struct ioh_source *source, void *buf, size_t len)
{
  struct ioh_endpoint *ep = source->ep;
  ssize_t n;

  if (ep->kind == IOH_KIND_PIPE)
    n = get_from_pipe (source, buf, len);
  else if (!ioh_endpoint_is_storage (ep))
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
