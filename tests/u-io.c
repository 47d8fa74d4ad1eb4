/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * u-io.c - the transfer calls on descriptors that are slow, small, closed or
 * not blocking, and the messages between worker and controller.
 */
#include <config.h>

#include "iohelper/failure.h"
#include "iohelper/io.h"
#include "iohelper/worker.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BIG ((size_t) 3 << 20)

static unsigned char *
pattern (size_t len)
{
  unsigned char *p = malloc (len);

  for (size_t i = 0; p && i < len; i++)
    p[i] = (unsigned char) (i * 2654435761u >> 13);
  return p;
}

/* A child reads FD to its end in pieces of PIECE and compares with WANT. */
static pid_t
reader (int fd, int other, const unsigned char *want, size_t len, size_t piece)
{
  unsigned char buf[65536];
  size_t have = 0;
  ssize_t n;
  pid_t pid = fork ();

  if (pid != 0)
    return pid;
  close (other);
  while ((n = read (fd, buf, piece)) > 0)
    {
      if (have + (size_t) n > len || memcmp (want + have, buf, (size_t) n) != 0)
        _exit (1);
      have += (size_t) n;
    }
  _exit (have == len ? 0 : 2);
}

static int
status_of (pid_t pid)
{
  int status;

  waitpid (pid, &status, 0);
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
check_write_all (bool nonblock, int family, const char *what)
{
  unsigned char *data = pattern (BIG);
  struct ioh_span span = { data, BIG, 100 };
  int fds[2], r;
  pid_t pid;

  r = family ? socketpair (family, SOCK_STREAM, 0, fds) : pipe (fds);
  if (r < 0)
    bail_out ("no descriptors: %s", strerror (errno));
  if (nonblock)
    fcntl (fds[1], F_SETFL, O_NONBLOCK);
  pid = reader (fds[0], fds[1], data, BIG, 777);
  close (fds[0]);
  r = ioh_write_all (fds[1], &span, false, 0);
  close (fds[1]);
  ok (r == 0 && span.len == 0 && span.off == BIG + 100 && span.ptr == data + BIG,
      "writing to %s takes all of a span and advances its three members alike", what);
  is_int (status_of (pid), 0, "the reader of %s gets every byte in its place", what);
  free (data);
}

/* Sends SIGUSR1 to ourselves a little later; SIGALRM is the backstop's. */
static void
signal_later (void (*handler) (int))
{
  struct sigaction act = { .sa_handler = handler };
  struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
  struct itimerspec when = { .it_value = { .tv_nsec = 300000000 } };
  timer_t timer;

  sigaction (SIGUSR1, &act, NULL);
  if (timer_create (CLOCK_MONOTONIC, &event, &timer) < 0 || timer_settime (timer, 0, &when, NULL) < 0)
    bail_out ("no timer");
}

static int late_writer; /* where the timer's handler writes */

static void
write_late (int number)
{
  (void) number;
  (void) !write (late_writer, "x", 1);
}

/* The byte comes by a signal's handler, so the wait is also interrupted. */
static void
check_read_waits (void)
{
  int fds[2];
  char byte = 0;

  if (pipe (fds) < 0)
    bail_out ("no pipe");
  fcntl (fds[0], F_SETFL, O_NONBLOCK);
  late_writer = fds[1];
  signal_later (write_late);
  is_int (ioh_read (fds[0], &byte, 1, false, 0), 1, "an empty non-blocking pipe is waited for");
  close (fds[1]);
  is_int (ioh_read (fds[0], &byte, 1, false, 0), 0, "a closed pipe is an end of file");
  ok (fcntl (fds[0], F_GETFL) & O_NONBLOCK, "O_NONBLOCK is as it was");
  close (fds[0]);
}

static void
check_errors (void)
{
  unsigned char data[10] = { 0 };
  struct ioh_span span = { data, sizeof data, 0 };
  int fds[2];
  bool synced = false;

  signal (SIGPIPE, SIG_IGN);
  if (pipe (fds) < 0)
    bail_out ("no pipe");
  close (fds[0]);
  is_int (ioh_write_all (fds[1], &span, false, 0), -EPIPE, "a pipe without a reader is EPIPE");
  is_int ((intmax_t) span.len, 10, "... and nothing of the span was taken");
  is_int (ioh_sync (fds[1], true, &synced), 0, "a pipe that cannot be synced is no error");
  ok (!synced, "... and does not count as synced");
  close (fds[1]);
  is_int (ioh_read (fds[1], data, 1, false, 0), -EBADF, "a closed descriptor is EBADF");
  is_int (ioh_close (fds[1]), -EBADF, "closing it twice is told");
}

static bool
always (void)
{
  return true;
}

static void
nothing (int number)
{
  (void) number;
}

/* A nudge takes a cancelled relay out of a read that would last for ever. */
static void
check_cancel (void)
{
  int fds[2];
  char byte;

  if (pipe (fds) < 0)
    bail_out ("no pipe");
  ioh_io_cancelled = always;
  signal_later (nothing);
  is_int (ioh_read (fds[0], &byte, 1, false, 0), -ECANCELED,
          "a signal ends a blocked read once the relay is cancelled");
  ioh_io_cancelled = NULL;
  close (fds[0]);
  close (fds[1]);
}

static void
check_messages (void)
{
  struct ioh_msg msg = { 0, 0 };
  int pair[2], fd = -1, null = open ("/dev/null", O_RDONLY);

  if (socketpair (AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
    bail_out ("no socket pair");
  is_int (ioh_msg_receive (pair[1], &msg, &fd, false), -EAGAIN, "no message is EAGAIN");
  is_int (ioh_msg_send (pair[0], IOH_MSG_TEMP, 77, null), 0, "a message with a descriptor is sent");
  is_int (ioh_msg_receive (pair[1], &msg, &fd, true), 0, "it is received");
  ok (msg.type == IOH_MSG_TEMP && msg.value == 77 && fd >= 0
        && (fcntl (fd, F_GETFD) & FD_CLOEXEC),
      "it has its type, its value, and a descriptor that exec closes");
  close (pair[0]);
  is_int (ioh_msg_receive (pair[1], &msg, &fd, true), -ENOTCONN, "a peer that is gone is told");
  close (pair[1]);
  close (null);
}

static void
check_failures (void)
{
  struct ioh_failure f = { .set = false };

  ioh_failure_errno (&f, IOH_END_DESTINATION, "writing", "/x/vm.sav", 73400320, ENOSPC, NULL);
  is_str (f.message, "writing '/x/vm.sav' at offset 73400320: No space left on device",
          "a failure says what was done to what, where, and why it failed");
  is_int (f.outcome, IOH_NO_SPACE, "no space has an outcome of its own");
  ioh_failure_errno (&f, IOH_END_SOURCE, "reading", "stdin", 0, EIO, NULL);
  is_int (f.err, ENOSPC, "the first cause is kept");
  f.set = false;
  ioh_failure_errno (&f, IOH_END_SOURCE, "reading", "a\nb", IOH_NO_OFFSET, EIO, "wait");
  is_str (f.message, "reading 'a?b': Input/output error; wait",
          "a line break in a name does not make a second line");
  f.set = false;
  ioh_failure_opening (&f, IOH_END_SOURCE, "opening", "x", ENOENT, NULL);
  is_int (f.outcome, IOH_USAGE, "a missing file is an error of the request");
  f.set = false;
  ioh_failure_opening (&f, IOH_END_SOURCE, "opening", "x", EIO, NULL);
  is_int (f.outcome, IOH_FAILED, "a sick disk is not");
}

int
main (void)
{
  check_write_all (false, 0, "a pipe");
  check_write_all (true, 0, "a non-blocking pipe");
  check_write_all (false, AF_UNIX, "a socket");
  check_write_all (true, AF_UNIX, "a non-blocking socket");
  check_read_waits ();
  check_errors ();
  check_cancel ();
  check_messages ();
  check_failures ();
  return done_testing ();
}
