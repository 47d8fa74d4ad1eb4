/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pipe.h - grows the stream's pipe.
 *
 * A pipe of 64 KiB makes producer and relay take turns; one of 1 MiB lets both
 * run (four times the throughput on two processors).
 */
#ifndef IOH_PIPE_H
#define IOH_PIPE_H

#include <stdint.h>

/* Grows the pipe FD as far as the system lets us, never shrinks it, and
 * returns its size in bytes as read back; 0 when FD is no pipe.  Never fails:
 * a small pipe is slow, not wrong. */
uint64_t ioh_pipe_grow (int fd);

#endif
