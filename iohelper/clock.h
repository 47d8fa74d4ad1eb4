/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * clock.h - time as the controller counts it: monotonic, never set back.
 */
#ifndef IOH_CLOCK_H
#define IOH_CLOCK_H

#include <sys/time.h>
#include <time.h>

/* Seconds since some moment in the past. */
static inline double
ioh_now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static inline struct timeval
ioh_milliseconds (unsigned ms)
{
  return (struct timeval) { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };
}

#endif
