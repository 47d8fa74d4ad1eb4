/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * report.c - fills the report; see report.h.
 */
#include <config.h>

#include "iohelper/report.h"

#include <stdarg.h>
#include <stdio.h>

void
ioh_report_warn (struct ioh_report *report, const char *format, ...)
{
  va_list ap;

  if (report->n_warnings == IOH_WARNINGS_MAX)
    return;
  va_start (ap, format);
  vsnprintf (report->warnings[report->n_warnings++], sizeof report->warnings[0], format, ap);
  va_end (ap);
}
