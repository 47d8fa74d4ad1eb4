/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tap.h - what a unit test says, as TAP version 12 on stdout.
 *
 * Owner: the test program.  Invariant: the plan comes last, from
 * done_testing(), so a test that dies early has no plan and counts as failed.
 * One process prints: a forked child tells its parent by its exit status.
 *
 * Environment: IOH_NO_SKIP=1 makes a skip a failure; TAP_TIMEOUT=N ends the
 * program after N seconds (60).
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <inttypes.h>
#include <stdbool.h>

/* Each says one sentence: subject, condition, outcome.  Returns COND. */
bool ok (bool cond, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
bool is_int (intmax_t got, intmax_t want, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
bool is_str (const char *got, const char *want, const char *format, ...) __attribute__ ((format (printf, 3, 4)));

/* Lines that explain; TAP readers show them and draw no conclusion. */
void diag (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* N tests are not run, for a reason that is named. */
void skip (const char *reason, unsigned n);

/* Prints "Bail out!": nothing after this would mean anything. */
void bail_out (const char *format, ...) __attribute__ ((format (printf, 1, 2), noreturn));

/* Prints the plan; main() returns its value. */
int done_testing (void);

#endif
