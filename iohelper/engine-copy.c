/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * engine-copy.c - one aligned buffer, filled and written in turns.
 *
 * Works with every pair of ends.  Towards storage it gathers whole buffers,
 * however small the producer's writes; towards a pipe it passes on what came.
 */
#include <config.h>

#include "iohelper/engine.h"

#include <errno.h>
#include <sys/mman.h>

static const char *
unfit (const struct ioh_transfer *t)
{
  (void) t;
  return NULL;
}

/* Fills BUF up to WANT bytes.  Returns the count; *ENDED at end of file; *BAD
 * after an error, when what came before it still counts. */
static size_t
fill (struct ioh_transfer *t, unsigned char *buf, size_t want, bool *ended, bool *bad)
{
  size_t have = 0;

  while (have < want && !*ended)
    {
      ssize_t n = ioh_source_read (t->source, buf + have, want - have);
      if (n < 0)
        {
          *bad = true;
          break;
        }
      have += (size_t) n;
      *ended = n == 0;
      if (n > 0 && (!t->sink->whole_buffers || !ioh_source_is_aligned (t->source, have)))
        break;
    }
  return have;
}

static int
relay (struct ioh_transfer *t, unsigned char *buf)
{
  bool bad = false;

  while (!t->at_eof && !bad && t->moved < t->limit)
    {
      size_t want = ioh_sink_want (t->sink, t->buffer_size);
      uint64_t before = t->sink->ep->off;
      size_t have;
      int r;

      t->source->exact = want >= t->limit - t->moved;
      if (t->source->exact)
        want = (size_t) (t->limit - t->moved);
      have = fill (t, buf, want, &t->at_eof, &bad);
      if (have == 0)
        continue;
      if (t->witness)
        ioh_witness_see (t->witness, buf, have);
      r = ioh_sink_write (t->sink, buf, have);
      t->moved += t->sink->ep->off - before;
      if (r < 0 || t->checkpoint (t->checkpoint_ctx, t->moved) < 0)
        return -1;
    }
  return bad ? -1 : 0;
}

static int
run (struct ioh_transfer *t)
{
  unsigned char *buf = mmap (NULL, t->buffer_size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int r;

  if (buf == MAP_FAILED)
    {
      ioh_failure_errno (&t->sink->report->failure, IOH_END_HELPER, "allocating", "the buffer",
                         IOH_NO_OFFSET, errno, "use a smaller --buffer-size");
      return -1;
    }
  r = relay (t, buf);
  munmap (buf, t->buffer_size);
  return r;
}

const struct ioh_engine ioh_engine_copy = { .name = "copy", .unfit = unfit, .run = run };
