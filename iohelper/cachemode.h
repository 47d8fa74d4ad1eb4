/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cachemode.h - how the file's end treats the page cache: what was asked for,
 * what the file takes, what is really done, and why.
 */
#ifndef IOH_CACHEMODE_H
#define IOH_CACHEMODE_H

#include "iohelper/endpoint.h"
#include "iohelper/job.h"
#include "iohelper/report.h"

/* Decides for the storage end EP and notes mode and reason in REPORT.  May set
 * O_DIRECT on EP.  Returns the mode (never AUTO), or -1 with the report's
 * failure set: direct was demanded and cannot be. */
int ioh_cachemode_choose (const struct ioh_job *job, struct ioh_endpoint *ep,
                          struct ioh_report *report);

/* Direct I/O was refused at EP's offset in mid-stream: notes the hand-over to
 * buffered + drop.  Returns the new mode. */
int ioh_cachemode_fall_back (struct ioh_endpoint *ep, struct ioh_report *report, int err);

#endif
