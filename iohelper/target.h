/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * target.h - the file that a save writes: found, opened, and put in place.
 *
 * A regular file is replaced atomically: the stream goes to a file without a
 * name (or with a temporary one, where the file system cannot do better), and
 * takes FILE's place only when it is whole and synced.  Everything else, and
 * --in-place, is written where it is and never unlinked.
 *
 * Owner: the worker.  Invariant: until ioh_target_commit() has begun, whoever
 * opens FILE by name sees the old content; afterwards the whole new one.
 */
#ifndef IOH_TARGET_H
#define IOH_TARGET_H

#include "iohelper/path.h"
#include "iohelper/worker.h"

#include <sys/stat.h>

struct ioh_target
{
  const struct ioh_job *job;
  struct ioh_failure *failure;
  struct ioh_path path;      /* where FILE really is */
  int fd;                    /* open for writing; -1 none */
  bool atomic;               /* fd is a new file, to be put in place */
  bool named;                /* ... which has a temporary name */
  bool made;                 /* in place: FILE was not there before */
  char *temp_name;           /* in shared memory, for the controller */
  size_t temp_size;
  /* What a named temporary file needs done before it exists: tells the
   * controller how to remove it. */
  int (*announce) (void *ctx, int dir_fd);
  void *announce_ctx;
  /* Called before an open that waits for somebody else: a FIFO's reader. */
  void (*will_block) (void *ctx);
  void *will_block_ctx;
};

/* Opens FILE (job->file) for a save.  0, or -1 with the failure set, nothing
 * touched. */
int ioh_target_open (struct ioh_target *t);

/* Gives the new file the owner, mode and attributes it is to have. */
int ioh_target_dress (struct ioh_target *t, struct ioh_report *report);

/* Puts the new file in FILE's place; FULL also syncs the directory.  The
 * caller has decided to commit.  0, or -1 with the failure set and
 * report->target saying what became of FILE. */
int ioh_target_commit (struct ioh_target *t, enum ioh_sync sync, struct ioh_report *report);

/* Removes what was not committed and closes all; safe at any time. */
void ioh_target_close (struct ioh_target *t);

#endif
