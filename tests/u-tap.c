/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * u-tap.c - what tests/tap.c prints and returns, seen from outside: each case
 * is a child whose output is compared as text.
 *
 * Invariant: the children are done before the first result is counted here.
 */
#include <config.h>

#include "tests/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct outcome
{
  char text[1024];
  int status; /* of waitpid(2) */
};

static int
passes (void)
{
  return ok (true, "sentence %d", 1) && is_int (-2, -2, "two") && is_str ("a", "a", "same") && is_str (NULL, NULL, "none")
             ? done_testing ()
             : 98;
}

static int
fails (void)
{
  return ok (false, "false") || is_int (1, 2, "numbers") || is_str ("a", NULL, "words") ? 98 : done_testing ();
}

static int
skips (void)
{
  skip ("no root", 2);
  return done_testing ();
}

static int
says (void)
{
  diag ("one\ntwo %d", 2);
  ok (true, "issue #7\nis quoted");
  return done_testing ();
}

static int
dies (void)
{
  ok (true, "before");
  abort ();
}

static int
hangs (void)
{
  alarm (1);
  while (pause () < 0)
    ;
  return 98;
}

static int
bails (void)
{
  bail_out ("no %s", "disk");
}

static struct outcome
watch (int (*body) (void), const char *no_skip)
{
  struct outcome o = { .status = -1 };
  int ends[2];
  size_t len = 0;
  ssize_t n;
  pid_t pid;

  if (pipe (ends) < 0 || (pid = fork ()) < 0)
    bail_out ("pipe or fork: %s", strerror (errno));
  if (pid == 0)
    {
      dup2 (ends[1], STDOUT_FILENO);
      close (ends[0]);
      close (ends[1]);
      setenv ("IOH_NO_SKIP", no_skip, 1);
      _exit (body ());
    }
  close (ends[1]);
  while (len < sizeof o.text - 1 && (n = read (ends[0], o.text + len, sizeof o.text - 1 - len)) > 0)
    len += (size_t) n;
  close (ends[0]);
  waitpid (pid, &o.status, 0);
  return o;
}

static void
expect (const struct outcome *o, const char *what, const char *text, int status)
{
  is_str (o->text, text, "%s prints as TAP has it", what);
  is_int (WIFEXITED (o->status) ? WEXITSTATUS (o->status) : 128 + WTERMSIG (o->status), status,
          "%s ends with the status for it", what);
}

int
main (void)
{
  struct outcome pass = watch (passes, "0"), fail = watch (fails, "0"), skipped = watch (skips, "0");
  struct outcome strict = watch (skips, "1"), said = watch (says, "0"), died = watch (dies, "0");
  struct outcome hung = watch (hangs, "0"), bailed = watch (bails, "0");

  expect (&pass, "a test that passes", "ok 1 - sentence 1\nok 2 - two\nok 3 - same\nok 4 - none\n1..4\n", 0);
  expect (&fail, "a test that fails",
          "not ok 1 - false\nnot ok 2 - numbers\n# got 1, want 2\n"
          "not ok 3 - words\n# got  'a'\n# want NULL\n1..3\n# 3 of 3 failed\n",
          1);
  expect (&skipped, "a skip", "ok 1 # SKIP no root\nok 2 # SKIP no root\n1..2\n", 0);
  expect (&strict, "a skip where none is allowed",
          "not ok 1 - not run: no root\nnot ok 2 - not run: no root\n1..2\n# 2 of 2 failed\n", 1);
  expect (&said, "an explanation", "# one\n# two 2\nok 1 - issue  7 is quoted\n1..1\n", 0);
  expect (&died, "a crash after a result", "ok 1 - before\n", 128 + 6);
  expect (&hung, "a test that hangs", "\nBail out! the test did not end in time (TAP_TIMEOUT)\n", 99);
  expect (&bailed, "a test that gives up", "Bail out! no disk\n", 99);
  return done_testing ();
}
