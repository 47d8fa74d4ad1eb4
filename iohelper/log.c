/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * log.c - see log.h.
 */
#include <config.h>

#include "iohelper/log.h"

#include "iohelper/io.h"
#include "iohelper/tunables.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
ioh_log (const struct ioh_job *job, const char *format, ...)
{
  char line[1400] = "iohelper: ";
  size_t n = strlen (line);
  va_list ap;

  if (job->quiet || job->file_fd == STDERR_FILENO)
    return;
  va_start (ap, format);
  vsnprintf (line + n, sizeof line - n - 1, format, ap);
  va_end (ap);
  n = strlen (line);
  line[n++] = '\n';
  if (ioh_is_writable (STDERR_FILENO, IOH_LAST_WORDS_MS))
    (void) !write (STDERR_FILENO, line, n);
}

/* "123.4 MiB" */
static const char *
human (char buf[32], double bytes)
{
  static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  unsigned u = 0;

  for (; bytes >= 1024 && u < 4; u++)
    bytes /= 1024;
  snprintf (buf, 32, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
  return buf;
}

static void
log_summary (const struct ioh_result *r)
{
  const struct ioh_report *report = r->report;
  bool save = r->job->direction == IOH_SAVE;
  char quoted[512], size[32], rate[32];

  ioh_log (r->job, "%s %s, %s in %.2f s (%s/s): engine %s, cache %s (%s)%s%s%s%s",
           save ? "committed" : "delivered", ioh_quote (quoted, sizeof quoted, r->job->file),
           human (size, (double) r->bytes), r->seconds,
           human (rate, r->seconds > 0 ? (double) r->bytes / r->seconds : 0), report->engine,
           report->cache, report->cache_why, save ? ", " : "",
           !save ? "" : report->synced ? "synced" : "not synced", save ? ", evidence " : "",
           save ? r->evidence : "");
}

void
ioh_log_result (const struct ioh_result *r)
{
  bool libvirt = r->job->mode == IOH_MODE_LIBVIRT;

  /* libvirt shows our stderr as the reason of a failure, so in its forms it
   * has exactly one line, and only then. */
  if (libvirt && ioh_result_status (r) == 0)
    return;
  for (unsigned i = 0; i < r->report->n_warnings && !libvirt; i++)
    ioh_log (r->job, "warning: %s", r->report->warnings[i]);
  if (r->failure)
    ioh_log (r->job, "%s", r->failure->message);
  else if (r->job->verbose)
    log_summary (r);
}
