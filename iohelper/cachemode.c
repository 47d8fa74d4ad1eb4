/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cachemode.c - chooses direct, drop or keep; see cachemode.h.
 */
#include <config.h>

#include "iohelper/cachemode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
used (struct ioh_report *report, int mode, const char *why)
{
  static const char *const words[] = { "auto", "direct", "drop", "keep" };

  snprintf (report->cache, sizeof report->cache, "%s", words[mode]);
  snprintf (report->cache_why, sizeof report->cache_why, "%s", why);
  return mode;
}

/* 0, or -errno when the file does not take O_DIRECT. */
static int
try_direct (struct ioh_endpoint *ep)
{
  if (ep->dio_refused)
    return -EINVAL;
  return ioh_endpoint_set_direct (ep, true);
}

int
ioh_cachemode_choose (const struct ioh_job *job, struct ioh_endpoint *ep,
                      struct ioh_report *report)
{
  char why[IOH_WHY_MAX], quoted[512];
  int asked = job->cache, r;

  if (!ioh_endpoint_is_storage (ep))
    {
      if (asked == IOH_CACHE_DIRECT)
        {
          ioh_failure_text (&report->failure, IOH_USAGE, ep->end, "using", IOH_NO_OFFSET,
                            "%s is %s, which has no direct I/O; leave out --cache=direct",
                            ioh_quote (quoted, sizeof quoted, ep->name), ioh_kind_name (ep->kind));
          return -1;
        }
      snprintf (report->cache, sizeof report->cache, "none");
      snprintf (report->cache_why, sizeof report->cache_why, "%s has no page cache",
                ioh_kind_name (ep->kind));
      return IOH_CACHE_KEEP;
    }
  if (asked == IOH_CACHE_AUTO && (!ep->ours || job->mode == IOH_MODE_LIBVIRT))
    {
      /* The owner of a descriptor has chosen already. */
      if (ep->direct)
        return used (report, IOH_CACHE_DIRECT, "the file came with O_DIRECT");
      if (job->mode == IOH_MODE_OPERATOR)
        return used (report, IOH_CACHE_DROP, "the file came without O_DIRECT");
      return used (report, IOH_CACHE_KEEP, "the file came without O_DIRECT");
    }
  if (asked == IOH_CACHE_AUTO || asked == IOH_CACHE_DIRECT)
    {
      r = try_direct (ep);
      if (r == 0)
        return used (report, IOH_CACHE_DIRECT,
                     asked == IOH_CACHE_AUTO ? "the file system takes direct I/O"
                                             : "asked for");
      if (asked == IOH_CACHE_DIRECT)
        {
          ioh_failure_opening (&report->failure, ep->end, "setting O_DIRECT on", ep->name, -r,
                               "the file system has no direct I/O here; "
                               "use --cache=auto or --cache=drop");
          return -1;
        }
      snprintf (why, sizeof why, "direct I/O is refused here: %s", strerror (-r));
      return used (report, IOH_CACHE_DROP, why);
    }
  r = ioh_endpoint_set_direct (ep, false);
  if (r < 0)
    {
      ioh_failure_opening (&report->failure, ep->end, "clearing O_DIRECT on", ep->name, -r, NULL);
      return -1;
    }
  return used (report, asked, "asked for");
}

int
ioh_cachemode_fall_back (struct ioh_endpoint *ep, struct ioh_report *report, int err)
{
  char why[IOH_WHY_MAX];

  (void) ioh_endpoint_set_direct (ep, false);
  snprintf (why, sizeof why, "direct I/O was refused at offset %llu: %s",
            (unsigned long long) ep->off, strerror (err));
  return used (report, IOH_CACHE_DROP, why);
}
