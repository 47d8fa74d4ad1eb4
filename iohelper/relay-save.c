/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * relay-save.c - the end of a save: is the stream whole, may it be committed,
 * is it on disk, is it in place.
 */
#include <config.h>

#include "iohelper/relay.h"

#include "iohelper/io.h"

#include <errno.h>
#include <string.h>

static int
check_length (struct ioh_relay *r)
{
  uint64_t want = r->job->expect_length, have = r->transfer.moved;

  if (want == IOH_UNSET || have == want)
    return 0;
  ioh_failure_text (&r->report->failure, IOH_TRUNCATED, IOH_END_SOURCE, "reading", have,
                    "the stream ended after %llu bytes, not the %llu of --expect-length",
                    (unsigned long long) have, (unsigned long long) want);
  return -1;
}

/* libvirt knows by itself whether QEMU was done, and marks the image. */
static int
check_evidence (struct ioh_relay *r)
{
  static const enum ioh_require require[] = {
    [IOH_WANT_AUTO] = IOH_REQUIRE_AUTO,       [IOH_WANT_NONE] = IOH_REQUIRE_NONE,
    [IOH_WANT_QEMU] = IOH_REQUIRE_QEMU,       [IOH_WANT_LIBVIRT] = IOH_REQUIRE_LIBVIRT,
    [IOH_WANT_ELF] = IOH_REQUIRE_ELF,
  };
  struct ioh_verdict verdict;
  int e;

  if (!r->transfer.witness)
    return 0;
  /* The end is read back at whatever offset it has. */
  (void) ioh_endpoint_set_direct (&r->sink_ep, false);
  e = ioh_evidence_check (require[r->job->require], r->witness.head, r->witness.head_len, r->witness.total,
                          ioh_witness_read_at, &r->witness, &verdict);
  if (e < 0)
    {
      ioh_failure_errno (&r->report->failure, IOH_END_DESTINATION, "reading back", r->sink_ep.name,
                         IOH_NO_OFFSET, -e, NULL);
      return -1;
    }
  r->report->format = verdict.format;
  r->report->proven = verdict.whole && verdict.proven;
  if (verdict.whole)
    return 0;
  ioh_failure_text (&r->report->failure, IOH_TRUNCATED, IOH_END_SOURCE, "reading",
                    r->transfer.moved, "the stream is not whole: %s", verdict.why);
  return -1;
}

static enum ioh_sync
sync_mode (const struct ioh_relay *r)
{
  if (r->job->sync != IOH_SYNC_DEFAULT)
    return (enum ioh_sync) r->job->sync;
  if (r->target.atomic)
    return IOH_SYNC_FULL;
  if (r->job->file_fd < 0 && ioh_job_handed (r->job))
    return IOH_SYNC_NONE;
  return IOH_SYNC_DATA;
}

static int
closing_failed (struct ioh_relay *r, int e)
{
  ioh_failure_errno (&r->report->failure, IOH_END_DESTINATION, "closing", r->sink_ep.name,
                     r->sink_ep.off, -e, NULL);
  return -1;
}

static int
make_durable (struct ioh_relay *r, enum ioh_sync sync)
{
  int e;

  if (ioh_target_dress (&r->target, r->report) < 0 || ioh_sink_sync (&r->sink, sync) < 0)
    return -1;
  r->report->sync = r->report->synced ? sync : IOH_SYNC_NONE;
  e = ioh_flush_on_close (r->sink_ep.fd);
  return e < 0 ? closing_failed (r, e) : 0;
}

static int
commit (struct ioh_relay *r, enum ioh_sync sync)
{
  int e;

  if (!ioh_worker_decide_commit (r->worker))
    return -1;
  if (ioh_target_commit (&r->target, sync, r->report) < 0)
    return -1;
  if (!r->sink_ep.ours)
    return 0;
  e = ioh_close (r->sink_ep.fd);
  r->sink_ep.fd = -1;
  if (e == 0)
    return 0;
  r->report->target = IOH_TARGET_UNSURE;
  return closing_failed (r, e);
}

int
ioh_relay_finish_save (struct ioh_relay *r)
{
  enum ioh_sync sync = sync_mode (r);

  if (check_length (r) < 0 || check_evidence (r) < 0)
    return -1;
  if (ioh_worker_tell (r->worker, IOH_MSG_EOF, r->transfer.moved, -1) < 0
      || ioh_worker_await_commit (r->worker) < 0 || ioh_sink_end (&r->sink) < 0)
    return -1;
  return make_durable (r, sync) < 0 ? -1 : commit (r, sync);
}
