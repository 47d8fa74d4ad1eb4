/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * log.h - lines on stderr: one for a failure, none for a success unless asked.
 */
#ifndef IOH_LOG_H
#define IOH_LOG_H

#include "iohelper/result.h"

/* "iohelper: TEXT" on stderr, in one write; nothing with --quiet or where
 * descriptor 2 carries data. */
void ioh_log (const struct ioh_job *job, const char *format, ...)
  __attribute__ ((format (printf, 2, 3)));

/* What a person, or libvirt, is to read about RESULT. */
void ioh_log_result (const struct ioh_result *result);

#endif
