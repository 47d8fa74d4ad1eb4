/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-vm.h - the request that fake-vm's command line makes, and its parts.
 *
 * Owner: tests/fake-vm.c.
 */
#ifndef FAKE_VM_H
#define FAKE_VM_H

#include "tests/fake-stream.h"

#include <stdint.h>
#include <time.h>

enum fake_command
{
  FAKE_WRITE = 1,
  FAKE_CHECK = 2,
  FAKE_SIZE = 4
};

/* Exit statuses. */
enum
{
  FAKE_OK = 0,
  FAKE_DIFFERS = 1,
  FAKE_USAGE = 2,
  FAKE_PEER_LEFT = 3,
  FAKE_IO_ERROR = 4
};

#define FAKE_NEVER UINT64_MAX /* no such offset */

enum fake_chunking
{
  FAKE_CHUNK_DEFAULT, /* QEMU's, but for plain streams */
  FAKE_CHUNK_QEMU,
  FAKE_CHUNK_RANDOM,
  FAKE_CHUNK_FIXED
};

/* How a run ends, or is cut, at an offset. */
enum fake_ending
{
  FAKE_END_NONE,
  FAKE_END_DIE,
  FAKE_END_EXIT,
  FAKE_END_STOP, /* write: a clean end of file; check: the stream is that short */
  FAKE_END_CLOSE
};

struct fake_request
{
  struct fake_spec spec;
  enum fake_chunking chunking;
  uint64_t chunk_bytes;
  uint64_t pace; /* bytes per second, 0: as fast as it goes */
  bool preload;
  bool nonblock;
  enum fake_ending ending;
  uint64_t end_off;
  int end_status;
  uint64_t stall_off;
  int stall_ms; /* -1: for ever */
  const char *file;
  uint64_t read_bytes;
};

/* FAKE_OK, or FAKE_USAGE once the reason was printed. */
int fake_parse_option (struct fake_request *rq, enum fake_command command, const char *arg);
int fake_usage (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
int fake_help (void);

/* Both return an exit status. */
int fake_write (const struct fake_stream *s, const struct fake_request *rq);
int fake_check (const struct fake_stream *s, const struct fake_request *rq);

/* Waits until OFF bytes are due at PACE bytes per second since START. */
void fake_pace (const struct timespec *start, uint64_t off, uint64_t pace);

/* Says so on stderr, then waits MS (-1: for ever); FALSE when the other end of
 * FD went away meanwhile. */
bool fake_stall (int fd, int ms);

/* FAKE_END_DIE, _EXIT, _STOP, _CLOSE: does it, or returns an exit status. */
int fake_end (const struct fake_request *rq);

#endif
