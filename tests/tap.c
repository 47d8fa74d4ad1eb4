/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tap.c - see tap.h.
 */
#include <config.h>

#include "tests/tap.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_DEFAULT_SEC 60

static unsigned n_run, n_failed;

static void
on_alarm (int sig)
{
  static const char text[] = "\nBail out! the test did not end in time (TAP_TIMEOUT)\n";
  ssize_t n = write (STDOUT_FILENO, text, sizeof text - 1);

  (void) n;
  (void) sig;
  _exit (99);
}

__attribute__ ((constructor)) static void
start (void)
{
  const char *text = getenv ("TAP_TIMEOUT");
  int sec = text ? atoi (text) : 0;

  /* Line by line: what was said before a crash is not lost. */
  setvbuf (stdout, NULL, _IOLBF, 0);
  signal (SIGALRM, on_alarm);
  alarm (sec > 0 ? (unsigned) sec : TIMEOUT_DEFAULT_SEC);
}

/* A number sign would begin a directive. */
static void __attribute__ ((format (printf, 1, 0)))
put_sentence (const char *format, va_list ap)
{
  char text[512];

  vsnprintf (text, sizeof text, format, ap);
  for (char *p = text; *p; p++)
    if (*p == '#' || *p == '\n')
      *p = ' ';
  puts (text);
}

static bool __attribute__ ((format (printf, 2, 0)))
report (bool cond, const char *format, va_list ap)
{
  printf ("%sok %u - ", cond ? "" : "not ", ++n_run);
  n_failed += !cond;
  put_sentence (format, ap);
  return cond;
}

bool
ok (bool cond, const char *format, ...)
{
  va_list ap;

  va_start (ap, format);
  report (cond, format, ap);
  va_end (ap);
  return cond;
}

bool
is_int (intmax_t got, intmax_t want, const char *format, ...)
{
  va_list ap;

  va_start (ap, format);
  report (got == want, format, ap);
  va_end (ap);
  if (got != want)
    diag ("got %jd, want %jd", got, want);
  return got == want;
}

bool
is_str (const char *got, const char *want, const char *format, ...)
{
  bool same = got && want ? strcmp (got, want) == 0 : got == want;
  va_list ap;

  va_start (ap, format);
  report (same, format, ap);
  va_end (ap);
  if (!same)
    {
      diag ("got  %s%s%s", got ? "'" : "", got ? got : "NULL", got ? "'" : "");
      diag ("want %s%s%s", want ? "'" : "", want ? want : "NULL", want ? "'" : "");
    }
  return same;
}

void
diag (const char *format, ...)
{
  char text[2048], *line = text, *end;
  va_list ap;

  va_start (ap, format);
  vsnprintf (text, sizeof text, format, ap);
  va_end (ap);
  for (; line; line = end)
    {
      end = strchr (line, '\n');
      if (end)
        *end++ = '\0';
      printf ("# %s\n", line);
    }
}

void
skip (const char *reason, unsigned n)
{
  const char *strict = getenv ("IOH_NO_SKIP");
  bool fails = strict && strcmp (strict, "1") == 0;

  while (n-- > 0)
    {
      n_failed += fails;
      if (fails)
        printf ("not ok %u - not run: %s\n", ++n_run, reason);
      else
        printf ("ok %u # SKIP %s\n", ++n_run, reason);
    }
}

void
bail_out (const char *format, ...)
{
  va_list ap;

  printf ("Bail out! ");
  va_start (ap, format);
  put_sentence (format, ap);
  va_end (ap);
  fflush (stdout);
  _exit (99);
}

int
done_testing (void)
{
  alarm (0);
  printf ("1..%u\n", n_run);
  if (n_failed)
    diag ("%u of %u failed", n_failed, n_run);
  fflush (stdout);
  return n_failed ? 1 : 0;
}
