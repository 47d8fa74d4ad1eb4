/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * result.h - how a relay ended, and the record of it.
 */
#ifndef IOH_RESULT_H
#define IOH_RESULT_H

#include "iohelper/job.h"
#include "iohelper/report.h"

#include <json-c/json.h>
#include <sys/types.h>

struct ioh_result
{
  const struct ioh_job *job;
  const struct ioh_report *report;    /* the worker's, zeroed if it never ended */
  enum ioh_outcome outcome;
  const struct ioh_failure *failure;  /* NULL: none */
  int signal;                         /* that cancelled it; 0: none */
  uint64_t bytes;                     /* accepted by the destination */
  double seconds;
  const char *evidence;               /* save: a word; NULL: restore */
  enum ioh_target_state target;
  int command_status;                 /* as a shell shows it; -1: no command */
  const char *data_plane;             /* ended | killed | stuck */
  pid_t worker_pid;                   /* with "stuck" */
};

/* The exit status in JOB's mode: 0 or 1 for libvirt's forms. */
int ioh_result_status (const struct ioh_result *result);

/* The record; the caller owns the reference.  NULL: no memory. */
struct json_object *ioh_result_record (const struct ioh_result *result);

/* Removes what an earlier run left as JOB's --result, so that no file means
 * "not known"; false with a clear line in ERROR when it could not be written
 * later. */
bool ioh_result_prepare (const struct ioh_job *job, char *error, size_t size);

/* Writes RECORD (NULL: there was no memory) wherever JOB wants it; what fails is
 * one line on stderr. */
void ioh_result_write (const struct ioh_job *job, struct json_object *record);

#endif
