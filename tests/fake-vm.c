/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-vm.c - the command line of a hypervisor's stand-in: writes streams that
 * look like a hypervisor's, and checks what comes back, without keeping a copy.
 *
 * Invariant: a request that cannot be carried out is refused before the first
 * byte.
 */
#include <config.h>

#include "tests/fake-vm.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SIZE_DEFAULT ((UINT64_C (16) << 20) + 43) /* a multiple of nothing that matters */
#define READ_DEFAULT 32768                        /* QEMU restores in these */

void
fake_pace (const struct timespec *start, uint64_t off, uint64_t pace)
{
  uint64_t nsec = (uint64_t) start->tv_nsec + (uint64_t) ((double) (off % pace) / (double) pace * 1e9);
  struct timespec due = { .tv_sec = start->tv_sec + (time_t) (off / pace) + (time_t) (nsec / 1000000000),
                          .tv_nsec = (long) (nsec % 1000000000) };

  while (clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
    ;
}

bool
fake_stall (int fd, int ms)
{
  /* No events asked for: only POLLERR and POLLHUP, so nobody is left behind
   * for ever once the other end has gone. */
  struct pollfd wait = { .fd = fd, .events = 0 };
  int r;

  fprintf (stderr, "stalled\n");
  do
    r = poll (&wait, 1, ms);
  while (r < 0 && errno == EINTR);
  return r == 0;
}

int
fake_end (const struct fake_request *rq)
{
  switch (rq->ending)
    {
    case FAKE_END_DIE:
      fflush (NULL);
      kill (getpid (), SIGKILL);
      for (;;)
        pause ();
    case FAKE_END_EXIT:
      return rq->end_status;
    case FAKE_END_CLOSE:
      close (STDIN_FILENO);
      printf ("fake-vm: closed at offset %" PRIu64 "\n", rq->end_off);
      return FAKE_OK;
    default:
      return FAKE_OK;
    }
}

int
main (int argc, char **argv)
{
  struct fake_request rq = { .spec.size = SIZE_DEFAULT, .read_bytes = READ_DEFAULT, .stall_off = FAKE_NEVER,
                             .stall_ms = -1 };
  struct fake_stream s;
  enum fake_command command;
  char why[160];
  int status;

  if (argc >= 2 && strcmp (argv[1], "--help") == 0)
    return fake_help ();
  if (argc < 2)
    return fake_usage ("write, check or size is missing, see --help");
  if (strcmp (argv[1], "write") == 0)
    command = FAKE_WRITE;
  else if (strcmp (argv[1], "check") == 0)
    command = FAKE_CHECK;
  else if (strcmp (argv[1], "size") == 0)
    command = FAKE_SIZE;
  else
    return fake_usage ("unknown command '%s', see --help", argv[1]);
  for (int i = 2; i < argc; i++)
    if ((status = fake_parse_option (&rq, command, argv[i])) != FAKE_OK)
      return status;

  if (rq.spec.no_vmdesc && (rq.spec.compressed || (rq.spec.kind != FAKE_QEMU && rq.spec.kind != FAKE_LIBVIRT)))
    return fake_usage ("--no-vmdesc is for qemu and uncompressed libvirt streams");
  if ((rq.spec.final || rq.spec.compressed) && rq.spec.kind != FAKE_LIBVIRT)
    return fake_usage ("--final and --compressed are for libvirt images");
  if (rq.ending != FAKE_END_NONE && rq.end_off > rq.spec.size)
    return fake_usage ("offset %" PRIu64 " is beyond the stream's end at %" PRIu64, rq.end_off, rq.spec.size);
  if (rq.stall_off != FAKE_NEVER && rq.stall_off > rq.spec.size)
    return fake_usage ("offset %" PRIu64 " is beyond the stream's end at %" PRIu64, rq.stall_off, rq.spec.size);
  if (rq.stall_ms >= 0 && rq.stall_off == FAKE_NEVER)
    return fake_usage ("--stall-ms needs --stall-at");
  if (rq.preload && rq.spec.size > SIZE_MAX / 2)
    return fake_usage ("--preload: %" PRIu64 " bytes do not fit into memory", rq.spec.size);
  if (command == FAKE_WRITE && isatty (STDOUT_FILENO))
    return fake_usage ("a stream is not written to a terminal");
  if (fake_stream_init (&s, &rq.spec, why, sizeof why) < 0)
    return fake_usage ("%s", why);

  if (command == FAKE_WRITE)
    status = fake_write (&s, &rq);
  else if (command == FAKE_CHECK)
    status = fake_check (&s, &rq);
  else
    {
      printf ("%" PRIu64 "\n", s.spec.size);
      status = FAKE_OK;
    }
  fake_stream_free (&s);
  if (fflush (stdout) != 0 && command != FAKE_WRITE)
    status = FAKE_IO_ERROR;
  return status;
}
