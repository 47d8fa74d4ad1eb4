/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * endpoint.h - one end of a relay: a descriptor, what it is, where it stands.
 *
 * Owner: the worker.  Invariant: classified once, by fstat of the open
 * descriptor, never by name.  A descriptor that was handed to us shares its
 * flags with its owner: O_NONBLOCK is never touched, and O_DIRECT is as it was
 * again after ioh_endpoint_give_back().
 */
#ifndef IOH_ENDPOINT_H
#define IOH_ENDPOINT_H

#include "iohelper/failure.h"
#include "iohelper/tunables.h"

#include <stdbool.h>
#include <stdint.h>

enum ioh_kind
{
  IOH_KIND_REGULAR,
  IOH_KIND_BLOCK,
  IOH_KIND_PIPE,   /* or FIFO */
  IOH_KIND_SOCKET,
  IOH_KIND_TTY,
  IOH_KIND_CHAR,   /* any other character device, /dev/null too */
  IOH_KIND_OTHER
};

struct ioh_endpoint
{
  int fd;              /* -1: none */
  bool ours;           /* we opened it and close it */
  enum ioh_end end;
  const char *name;    /* for messages; borrowed */
  enum ioh_kind kind;
  bool positional;     /* pread/pwrite at OFF; false: the shared position */
  bool direct;         /* O_DIRECT is set now */
  bool was_direct;     /* ... was set when we got it */
  uint64_t start;      /* first byte of the relay, in the file */
  uint64_t off;        /* next byte, in the file; counts up on pipes too */
  uint64_t size;       /* regular file: length at start; block device: capacity */
  uint32_t block_size; /* st_blksize */
  bool dio_refused;    /* the kernel says that there is no direct I/O here */
  uint32_t dio_mem_align; /* bytes, never 0 */
  uint32_t dio_off_align; /* bytes, never 0 */
};

/* Classifies FD, open already.  ACCESS is O_RDONLY or O_WRONLY: what the relay
 * will do with it.  0, or -1 with *F set. */
int ioh_endpoint_adopt (struct ioh_endpoint *ep, int fd, bool ours, enum ioh_end end, int access,
                        const char *name, struct ioh_failure *f);

/* "a block device", for messages. */
const char *ioh_kind_name (enum ioh_kind kind);

/* True for what has offsets and an end of its own. */
static inline bool
ioh_endpoint_is_storage (const struct ioh_endpoint *ep)
{
  return ep->kind == IOH_KIND_REGULAR || ep->kind == IOH_KIND_BLOCK;
}

/* Bytes that buffers and requests are a multiple of: direct I/O's alignment or
 * a page, whichever is more. */
static inline uint32_t
ioh_endpoint_unit (const struct ioh_endpoint *ep)
{
  return ep->dio_off_align > IOH_DIRECT_ALIGN ? ep->dio_off_align : IOH_DIRECT_ALIGN;
}

/* Sets or clears O_DIRECT; 0 or -errno. */
int ioh_endpoint_set_direct (struct ioh_endpoint *ep, bool on);

/* Gives a handed descriptor back with O_DIRECT as we got it.  Its position is
 * where the relay ended, since handed descriptors are read and written at
 * their own position. */
void ioh_endpoint_give_back (struct ioh_endpoint *ep);

#endif
