/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * relay.h - one relay from open to commit: the only place with policy.
 *
 * Owner: the worker.  Invariant: a save is committed only after the end of the
 * stream, its checks, the controller's word, and the sync; everything else
 * leaves an atomic target as it was.
 */
#ifndef IOH_RELAY_H
#define IOH_RELAY_H

#include "iohelper/engine.h"
#include "iohelper/target.h"
#include "iohelper/worker.h"

struct ioh_relay
{
  struct ioh_worker *worker;
  const struct ioh_job *job;
  struct ioh_report *report;
  struct ioh_endpoint source_ep, sink_ep;
  struct ioh_endpoint *file_ep;    /* the one of the two that is FILE */
  struct ioh_endpoint *stream_ep;  /* the other */
  struct ioh_target target;
  struct ioh_source source;
  struct ioh_sink sink;
  struct ioh_witness witness;
  struct ioh_transfer transfer;
  bool ready;                      /* the controller was told */
};

/* Runs the relay of W; the report says how it ended. */
void ioh_relay_run (struct ioh_worker *w);

/* relay-open.c: opens and checks both ends.  0, or -1 with the failure set and
 * nothing touched. */
int ioh_relay_open (struct ioh_relay *r);

/* relay-save.c: what a save needs after its last byte: length, evidence, the
 * controller's word, sync, commit.  0, or -1 with the failure set. */
int ioh_relay_finish_save (struct ioh_relay *r);

#endif
