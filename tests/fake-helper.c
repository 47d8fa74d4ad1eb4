/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-helper.c - stands in for the helper where a test of the library needs
 * one that misbehaves.
 *
 * The last part of FILE's name says how: the table at the end.  Nothing is ever
 * written to FILE but by "fds".
 */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int wire = -1;
static const char *file, *direction;

static void
say (const char *text)
{
  if (send (wire, text, strlen (text), MSG_NOSIGNAL) < 0)
    _exit (9);
}

static void
say_eof (uint64_t bytes)
{
  char line[80];

  snprintf (line, sizeof line, "{\"event\":\"eof\",\"bytes\":%" PRIu64 "}\n", bytes);
  say (line);
}

/* MORE: further members, each with a comma before it. */
static void
say_result (const char *outcome, uint64_t bytes, const char *more)
{
  char line[4096];

  snprintf (line, sizeof line,
            "{\"event\":\"result\",\"version\":1,\"direction\":\"%s\",\"outcome\":\"%s\","
            "\"bytes\":%" PRIu64 ",\"evidence\":\"manager\",\"cache\":\"none\"%s}\n",
            direction, outcome, bytes, more);
  say (line);
}

static uint64_t
drain_stdin (void)
{
  static char buf[1 << 16];
  uint64_t total = 0;
  ssize_t n;

  while ((n = read (0, buf, sizeof buf)) > 0)
    total += (uint64_t) n;
  return total;
}

/* The next request; exits when the library has gone or cancels. */
static int64_t
await_commit (void)
{
  static char buf[256];
  size_t len = 0;
  const char *number;

  while (len == 0 || buf[len - 1] != '\n')
    {
      ssize_t n = read (wire, buf + len, sizeof buf - 1 - len);
      if (n <= 0)
        _exit (7);
      len += (size_t) n;
    }
  buf[len] = '\0';
  number = strstr (buf, "\"expected_bytes\":");
  if (!strstr (buf, "\"commit\"") || !number)
    {
      say_result ("cancelled", 0, "");
      _exit (7);
    }
  return strtoll (strchr (number, ':') + 1, NULL, 10);
}

/* As it should be up to there; returns the stream's bytes. */
static uint64_t
up_to_eof (void)
{
  say ("{\"event\":\"ready\"}\n");
  return drain_stdin ();
}

static uint64_t
up_to_commit (void)
{
  uint64_t bytes = up_to_eof ();

  say_eof (bytes);
  (void) await_commit ();
  return bytes;
}

static void
forever (void)
{
  for (;;)
    pause ();
}

/* ---- the ways ---------------------------------------------------------------------- */

/* As it should be, but for the file. */
static void
plain (void)
{
  if (strcmp (direction, "restore") == 0)
    {
      say ("{\"event\":\"ready\"}\n");
      say_result ("delivered", 0, "");
    }
  else
    say_result ("committed", up_to_commit (), "");
}

static void
dies (void)
{
  _exit (3);
}

static void
refuses_argv (void)
{
  _exit (2);
}

static void
garbage (void)
{
  say ("hello\n");
  forever ();
}

static void
endless (void)
{
  static char text[200001];

  memset (text, 'x', sizeof text - 1);
  say (text);
  forever ();
}

static void
closes (void)
{
  say ("{\"event\":\"ready\"}\n");
  close (wire);
  forever ();
}

static void
ready_dies (void)
{
  (void) up_to_eof ();
  _exit (0);
}

static void
ready_killed (void)
{
  (void) up_to_eof ();
  raise (SIGKILL);
}

/* Neither reads its stream nor hears a cancel. */
static void
deaf (void)
{
  say ("{\"event\":\"ready\"}\n");
  forever ();
}

/* Ends, and leaves a process behind that holds the socket and stdin. */
static void
leaves_socket (void)
{
  char byte;

  say ("{\"event\":\"ready\"}\n");
  if (fork () == 0)
    {
      while (read (wire, &byte, 1) > 0)
        ;
      _exit (0);
    }
  _exit (4);
}

static void
killed_committing (void)
{
  (void) up_to_commit ();
  raise (SIGKILL);
}

/* Commits only once somebody opens FILE, a FIFO, for writing. */
static void
slow (void)
{
  uint64_t bytes = up_to_commit ();

  (void) open (file, O_RDONLY | O_CLOEXEC);
  say_result ("committed", bytes, "");
}

/* Cannot be asked any more, but is still at it: FILE is a FIFO as above. */
static void
closes_committing (void)
{
  (void) up_to_commit ();
  close (wire);
  (void) open (file, O_RDONLY | O_CLOEXEC);
}

static void
commits_unasked (void)
{
  say_result ("committed", up_to_eof (), "");
}

static void
commits_less (void)
{
  say_result ("committed", up_to_commit () - 1, "");
}

static void
delivers_save (void)
{
  say_result ("delivered", up_to_commit (), "");
}

static void
delivers_at_once (void)
{
  say_result ("delivered", 0, "");
}

static void
unknown_outcome (void)
{
  (void) up_to_eof ();
  say_result ("splendid", 0, "");
}

/* Every member of a type that it should not have. */
static void
wrong_types (void)
{
  (void) up_to_eof ();
  say ("{\"event\":\"result\",\"direction\":\"save\",\"outcome\":\"failed\",\"bytes\":7,"
       "\"evidence\":[1],\"cache\":{},\"pipe_size\":null,"
       "\"error\":{\"end\":5,\"operation\":null,\"errno\":{},\"text\":[],\"offset\":\"1\","
       "\"message\":false}}\n");
}

static void
refuses_target (void)
{
  say_result ("no-space", 0,
              ",\"error\":{\"end\":\"destination\",\"operation\":\"opening\",\"errno\":\"ENOSPC\","
              "\"text\":\"No space left on device\",\"offset\":null,"
              "\"message\":\"opening '/x': No space left on device\"}");
}

/* More than 32 bits, and words that this version does not know. */
static void
huge (void)
{
  say ("{\"event\":\"weather\",\"sun\":true}\n{\"event\":\"ready\",\"moon\":[1,2]}\n");
  (void) drain_stdin ();
  say_eof (UINT64_C (1) << 40 | 1);
  (void) await_commit ();
  say_result ("failed", UINT64_C (1) << 41 | 3,
              ",\"error\":{\"end\":\"source\",\"operation\":\"reading\",\"errno\":\"EIO\","
              "\"text\":\"Input/output error\",\"offset\":2199023255555,"
              "\"message\":\"reading the stream at offset 2199023255555: Input/output error\"}");
}

/* One byte at a time. */
static void
dribbles (void)
{
  static const char ready[] = "{\"event\":\"ready\"}\n";

  for (const char *p = ready; *p; p++)
    {
      char one[2] = { *p, '\0' };
      say (one);
    }
  say_eof (drain_stdin ());
  (void) await_commit ();
  say_result ("committed", 0, "");
}

/* Its last words, then an end that takes for ever. */
static void
lingers (void)
{
  (void) up_to_eof ();
  say_result ("failed", 0, "");
  forever ();
}

/* Writes the numbers of its open descriptors to FILE. */
static void
list_fds (void)
{
  FILE *out = fopen (file, "we");
  DIR *dir = opendir ("/proc/self/fd");
  struct dirent *entry;

  while (out && dir && (entry = readdir (dir)) != NULL)
    {
      int fd = atoi (entry->d_name);
      if (entry->d_name[0] != '.' && fd != dirfd (dir) && fd != fileno (out))
        fprintf (out, "%d ", fd);
    }
  if (!out || !dir || fclose (out) != 0)
    _exit (9);
  closedir (dir);
  plain ();
}

static const struct
{
  const char *name;
  void (*way) (void);
} ways[] = {
  { "plain", plain },
  { "dies", dies },
  { "refuses-argv", refuses_argv },
  { "silent", forever },
  { "garbage", garbage },
  { "endless", endless },
  { "closes", closes },
  { "ready-dies", ready_dies },
  { "ready-killed", ready_killed },
  { "deaf", deaf },
  { "leaves-socket", leaves_socket },
  { "killed-committing", killed_committing },
  { "slow", slow },
  { "closes-committing", closes_committing },
  { "commits-unasked", commits_unasked },
  { "commits-less", commits_less },
  { "delivers-save", delivers_save },
  { "delivers-at-once", delivers_at_once },
  { "unknown-outcome", unknown_outcome },
  { "wrong-types", wrong_types },
  { "refuses-target", refuses_target },
  { "huge", huge },
  { "dribbles", dribbles },
  { "lingers", lingers },
  { "fds", list_fds },
};

int
main (int argc, char **argv)
{
  sigset_t none;
  const char *name;

  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  alarm (120); /* a test that dies leaves nothing behind for long */
  if (argc < 4)
    return 2;
  direction = argv[1];
  file = argv[argc - 1];
  for (int i = 2; i < argc; i++)
    if (strncmp (argv[i], "--manager-fd=", 13) == 0)
      wire = atoi (argv[i] + 13);
  name = strrchr (file, '/') ? strrchr (file, '/') + 1 : file;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
    if (strcmp (ways[i].name, name) == 0)
      {
        ways[i].way ();
        return 0;
      }
  fprintf (stderr, "fake-helper: no way '%s'\n", name);
  return 2;
}
