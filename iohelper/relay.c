/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * relay.c - drives one relay: open, move, finish, account.
 */
#include <config.h>

#include "iohelper/relay.h"

#include "iohelper/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static size_t
buffer_size (const struct ioh_relay *r)
{
  uint64_t size = r->job->buffer_size ? r->job->buffer_size : IOH_BUFFER_SIZE;
  uint64_t a = ioh_endpoint_unit (&r->source_ep), b = ioh_endpoint_unit (&r->sink_ep);
  uint64_t unit = a > b ? a : b; /* both are powers of two */

  if (r->job->memory && size > r->job->memory)
    size = r->job->memory;
  size -= size % unit;
  return (size_t) (size ? size : unit);
}

/* The evidence of a save's end, read back where the destination can be read. */
static int
start_witness (struct ioh_relay *r)
{
  int fd = -1, flags, e;

  if (r->job->direction != IOH_SAVE || r->job->mode == IOH_MODE_LIBVIRT
      || r->job->require == IOH_WANT_NONE)
    return 0;
  flags = fcntl (r->sink_ep.fd, F_GETFL);
  if (ioh_endpoint_is_storage (&r->sink_ep) && (flags & O_ACCMODE) == O_RDWR)
    fd = r->sink_ep.fd;
  e = ioh_witness_init (&r->witness, fd, r->sink_ep.start);
  if (e < 0)
    {
      ioh_failure_errno (&r->report->failure, IOH_END_HELPER, "allocating", "the first block",
                         IOH_NO_OFFSET, -e, NULL);
      return -1;
    }
  r->transfer.witness = &r->witness;
  return 0;
}

/* A stream that goes on where its agreed length ends is not the stream that
 * was agreed on.  The byte is read from the producer, which is closed next. */
static int
check_surplus (struct ioh_relay *r)
{
  static _Alignas (IOH_DIRECT_ALIGN) unsigned char spare[IOH_DIRECT_ALIGN];
  bool save = r->job->direction == IOH_SAVE;
  bool agreed = r->job->expect_length != IOH_UNSET
                && (save || r->job->expect_length < r->job->length);
  ssize_t n;

  if (r->transfer.at_eof || r->job->mode == IOH_MODE_LIBVIRT
      || (!agreed && !save))
    return 0; /* a restore's --length is where its source is closed */
  n = ioh_source_read (&r->source, spare, sizeof spare);
  if (n < 0)
    return -1;
  if (n == 0)
    return 0;
  ioh_failure_text (&r->report->failure, IOH_TOO_LONG, IOH_END_SOURCE, "reading",
                    r->transfer.moved, "the stream goes on after the %llu bytes of --%s",
                    (unsigned long long) r->transfer.limit,
                    agreed ? "expect-length" : "length");
  return -1;
}

static int
move (struct ioh_relay *r)
{
  struct ioh_transfer *t = &r->transfer;
  const struct ioh_engine *engine;
  int e;

  t->source = &r->source;
  t->sink = &r->sink;
  t->buffer_size = buffer_size (r);
  t->limit = r->job->length < r->job->expect_length ? r->job->length : r->job->expect_length;
  t->checkpoint = ioh_worker_checkpoint;
  t->checkpoint_ctx = r->worker;
  r->report->buffer_size = t->buffer_size;
  engine = ioh_engine_choose (r->job->engine, t, r->report);
  if (!engine || start_witness (r) < 0)
    return -1;
  e = engine->run (t);
  atomic_store (&r->worker->shared->bytes, t->moved);
  return e < 0 ? -1 : check_surplus (r);
}

/* ---- restore --------------------------------------------------------------------------- */

static int
finish_restore (struct ioh_relay *r)
{
  const struct ioh_endpoint *ep = &r->source_ep;
  uint64_t want = r->job->expect_length;
  int e;

  /* EIO is never an end of file, and nor is a file that lost its tail. */
  if (r->transfer.at_eof && ep->kind == IOH_KIND_REGULAR && ep->off < ep->size)
    {
      char quoted[512];
      ioh_failure_text (&r->report->failure, IOH_FAILED, IOH_END_SOURCE, "reading", ep->off,
                        "reading %s at offset %llu: the file shrank from %llu bytes",
                        ioh_quote (quoted, sizeof quoted, ep->name),
                        (unsigned long long) ep->off, (unsigned long long) ep->size);
      return -1;
    }
  if (want != IOH_UNSET && r->transfer.moved < want)
    {
      ioh_failure_text (&r->report->failure, IOH_TRUNCATED, IOH_END_SOURCE, "reading", ep->off,
                        "the stream ended after %llu bytes, not the %llu of --expect-length",
                        (unsigned long long) r->transfer.moved, (unsigned long long) want);
      return -1;
    }
  e = ioh_flush_on_close (r->sink_ep.fd);
  if (e < 0)
    {
      ioh_failure_errno (&r->report->failure, IOH_END_DESTINATION, "closing", r->sink_ep.name,
                         r->sink_ep.off, -e, NULL);
      return -1;
    }
  if (!ioh_worker_decide_commit (r->worker))
    return -1;
  if (r->job->open_2011.delete_after && unlink (r->job->file) < 0)
    ioh_failure_errno (&r->report->failure, IOH_END_SOURCE, "removing", r->job->file,
                       IOH_NO_OFFSET, errno, NULL);
  return r->report->failure.set ? -1 : 0;
}

/* ---- accounts ----------------------------------------------------------------------------- */

/* The reader that leaves knows why; that is its own outcome. */
static void
name_consumer (struct ioh_relay *r)
{
  struct ioh_failure *f = &r->report->failure;

  if (r->job->direction == IOH_RESTORE && f->end == IOH_END_DESTINATION
      && (f->err == EPIPE || f->err == ECONNRESET))
    f->outcome = IOH_CONSUMER_CLOSED;
}

static void
account (struct ioh_relay *r, int result)
{
  struct ioh_failure *f = &r->report->failure;

  if (result < 0 && !f->set)
    ioh_failure_text (f, IOH_CANCELLED, IOH_END_HELPER, "cancelling", IOH_NO_OFFSET,
                      "cancelled after %llu bytes", (unsigned long long) r->transfer.moved);
  if (f->set)
    name_consumer (r);
  if (r->report->target == IOH_TARGET_UNTOUCHED && r->job->direction == IOH_SAVE
      && r->sink.touched && !r->target.atomic)
    r->report->target = IOH_TARGET_PARTIAL;
}

/* What is not committed goes; what we were handed goes back as it was. */
static void
clean_up (struct ioh_relay *r)
{
  if (r->file_ep)
    {
      ioh_endpoint_give_back (&r->source_ep);
      ioh_endpoint_give_back (&r->sink_ep);
    }
  if (r->target.made && !r->sink.touched && r->report->failure.set)
    (void) unlinkat (r->target.path.dir_fd, r->target.path.base, 0);
  ioh_target_close (&r->target);
  if (r->transfer.witness)
    ioh_witness_free (&r->witness);
}

void
ioh_relay_run (struct ioh_worker *w)
{
  struct ioh_relay relay = { .worker = w, .job = w->job, .report = &w->shared->report };
  struct ioh_relay *r = &relay;
  int result = ioh_relay_open (r);

  if (result == 0)
    result = move (r);
  if (result == 0)
    result = r->job->direction == IOH_SAVE ? ioh_relay_finish_save (r) : finish_restore (r);
  account (r, result);
  clean_up (r);
}
