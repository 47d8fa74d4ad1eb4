/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * witness.h - keeps what the evidence needs of a stream as it goes by: its first
 * block, and its last few MiB where they cannot be read back from the
 * destination.
 *
 * Owner: the worker.  Invariant: an engine shows every byte once, in order.
 */
#ifndef IOH_WITNESS_H
#define IOH_WITNESS_H

#include "iohelper/evidence.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ioh_witness
{
  uint64_t total;         /* bytes seen */
  unsigned char *head;    /* IOH_EVIDENCE_HEAD bytes */
  size_t head_len;
  unsigned char *ring;    /* IOH_EVIDENCE_TAIL bytes, byte N at N mod size; NULL: not kept */
  bool keep_tail;         /* asked for; dropped again for a stream of no known format */
  int read_back_fd;       /* >= 0: the tail is read from here */
  uint64_t read_back_start; /* where the stream's first byte lies there */
};

/* 0 or -ENOMEM.  READ_BACK_FD -1: the tail is kept in memory. */
int ioh_witness_init (struct ioh_witness *witness, int read_back_fd, uint64_t read_back_start);
void ioh_witness_see (struct ioh_witness *witness, const void *buf, size_t len);
void ioh_witness_free (struct ioh_witness *witness);

/* The callback for ioh_evidence_check(); CTX is the witness. */
ssize_t ioh_witness_read_at (void *ctx, void *buf, size_t len, uint64_t off);

#endif
