/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * engine.h - the contract between a relay and the engine that moves its bytes.
 *
 * An engine moves the stream from source to sink, in order, and nothing else:
 * it does not open, sync, commit, log, or decide an outcome.  Whatever engine
 * runs, the bytes, the report and the failure are the same.
 */
#ifndef IOH_ENGINE_H
#define IOH_ENGINE_H

#include "iohelper/sink.h"
#include "iohelper/source.h"
#include "iohelper/witness.h"

struct ioh_transfer
{
  struct ioh_source *source;
  struct ioh_sink *sink;
  struct ioh_witness *witness;    /* sees every byte once, in order; NULL: nobody looks */
  size_t buffer_size;     /* bytes, a multiple of both ends' units */
  uint64_t limit;         /* move at most so many bytes; UINT64_MAX: all */
  uint64_t moved;         /* out: accepted by the destination */
  bool at_eof;            /* out: the source ended before the limit */

  /* Called after every write with the bytes moved so far.  May wait (pause,
   * rate, a stopped controller).  0, or -1 with the failure set: give up. */
  int (*checkpoint) (void *ctx, uint64_t moved);
  void *checkpoint_ctx;
};

struct ioh_engine
{
  const char *name; /* the word of --engine and of the record */

  /* Can it serve these ends?  NULL: yes; else why not, a static string.
   * Touches neither end. */
  const char *(*unfit) (const struct ioh_transfer *t);

  /* Moves until the source ends, the limit is reached, or something fails.
   * What was read before a failure of the source is still written.  0, or -1
   * with the report's failure set. */
  int (*run) (struct ioh_transfer *t);
};

extern const struct ioh_engine ioh_engine_copy;

/* The engine for CHOICE (enum ioh_engine_choice) and these ends, noted in
 * REPORT; NULL with the failure set when the one demanded cannot serve. */
const struct ioh_engine *ioh_engine_choose (int choice, const struct ioh_transfer *t,
                                            struct ioh_report *report);

#endif
