/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * conclude.c - from two processes' accounts to one outcome.
 */
#include <config.h>

#include "iohelper/controller.h"
#include "iohelper/log.h"
#include "iohelper/remove.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const char *
evidence_of (const struct ioh_controller *c, enum ioh_outcome outcome)
{
  if (outcome != IOH_COMMITTED && !(outcome == IOH_FAILED && c->commit_sent))
    return "none";
  if (c->job->manager_fd >= 0 || c->job->commit_fd >= 0)
    return "manager";
  if (c->job->command)
    return "child";
  if (c->job->expect_length != IOH_UNSET)
    return "length";
  return c->shared->report.proven ? "format" : "eof";
}

/* The worker was lost with the commit begun, or before. */
static enum ioh_target_state
lost_target (const struct ioh_controller *c)
{
  bool placed = c->shared->report.target != IOH_TARGET_UNTOUCHED;

  if (atomic_load (&c->shared->decision) == IOH_DECIDED_COMMIT)
    return placed ? IOH_TARGET_UNSURE : IOH_TARGET_UNKNOWN;
  if (c->job->in_place || ioh_job_handed (c->job) || c->job->open_2011.used)
    return atomic_load (&c->shared->bytes) ? IOH_TARGET_PARTIAL : IOH_TARGET_UNKNOWN;
  return IOH_TARGET_UNTOUCHED;
}

/* A restore is done when its consumer says so, too. */
static void
judge_consumer (struct ioh_controller *c, struct ioh_failure *failure)
{
  bool closed = failure->set && failure->outcome == IOH_CONSUMER_CLOSED;

  if (c->job->direction != IOH_RESTORE || c->command_status <= 0 || c->own.set
      || (failure->set && !closed))
    return;
  failure->set = false;
  ioh_failure_text (failure, closed ? IOH_CONSUMER_CLOSED : IOH_FAILED, IOH_END_DESTINATION,
                    "running", IOH_NO_OFFSET,
                    "the command that reads the stream ended with status %d after %llu bytes",
                    c->command_status, (unsigned long long) atomic_load (&c->shared->bytes));
}

/* What is left behind, in the words of a cancel. */
static void
add_consequence (const struct ioh_controller *c, struct ioh_failure *failure,
                 enum ioh_target_state target, bool temp_left)
{
  size_t n = strlen (failure->message);
  char quoted[512];
  const char *what = target == IOH_TARGET_UNTOUCHED ? "is as it was"
                     : target == IOH_TARGET_PARTIAL ? "holds a part of the stream"
                     : target == IOH_TARGET_UNSURE  ? "is the new file, durability unknown"
                                                    : "is in an unknown state";

  if (c->job->direction == IOH_SAVE && failure->outcome == IOH_CANCELLED)
    snprintf (failure->message + n, sizeof failure->message - n, "; %s %s%s",
              ioh_quote (quoted, sizeof quoted, c->job->file), what,
              temp_left ? ", a temporary file is left" : "");
}

/* The temporary file of a worker that was killed.  False: it is left; a worker
 * that is stuck may be using it still. */
static bool
remove_temporary (const struct ioh_controller *c)
{
  if (c->temp_dir < 0 || !c->shared->temp_name[0])
    return true;
  return c->worker_gone && ioh_remove (c->job, c->temp_dir, c->shared->temp_name);
}

static void
write_record (const struct ioh_job *job, const struct ioh_result *result)
{
  struct json_object *record;

  if (!job->result && job->result_fd < 0 && !job->result_dir)
    return;
  record = ioh_result_record (result);
  ioh_result_write (job, record);
  json_object_put (record);
}

int
ioh_controller_conclude (struct ioh_controller *c)
{
  static const struct ioh_report nothing;
  bool reported = c->shared && ioh_worker_reported (c->shared);
  const struct ioh_report *report = reported ? &c->shared->report : &nothing;
  struct ioh_failure failure = c->own.set ? c->own : report->failure;
  bool temp_left = false;
  struct ioh_result result = {
    .job = c->job,
    .report = report,
    .outcome = c->job->direction == IOH_SAVE ? IOH_COMMITTED : IOH_DELIVERED,
    .signal = c->signal,
    .bytes = c->shared ? atomic_load (&c->shared->bytes) : 0,
    .seconds = c->seconds,
    .target = reported     ? (enum ioh_target_state) report->target
              : c->worker ? lost_target (c)
                          : IOH_TARGET_UNTOUCHED,
    .command_status = c->command_status,
    .data_plane = c->worker_stuck ? "stuck" : c->worker_killed ? "killed" : "ended",
    .worker_pid = c->worker_stuck ? c->worker : 0,
  };

  if (c->shared)
    {
      judge_consumer (c, &failure);
      temp_left = !remove_temporary (c);
    }
  if (failure.set)
    {
      add_consequence (c, &failure, result.target, temp_left);
      result.outcome = failure.outcome;
      result.failure = &failure;
    }
  if (c->job->direction == IOH_SAVE && c->shared)
    result.evidence = evidence_of (c, result.outcome);
  if (c->job->manager_fd >= 0)
    (void) ioh_manager_tell (c->job->manager_fd, IOH_WIRE_RESULT, ioh_result_record (&result));
  write_record (c->job, &result);
  ioh_log_result (&result);
  return ioh_result_status (&result);
}

int
ioh_controller_refuse (const struct ioh_job *job, const char *error)
{
  static const struct ioh_report nothing;
  struct ioh_failure failure = { .set = false };
  struct ioh_result result = {
    .job = job,
    .report = &nothing,
    .outcome = IOH_USAGE,
    .failure = &failure,
    .evidence = "none",
    .command_status = -1,
    .data_plane = "ended",
  };
  struct ioh_job record_only = *job;
  char why[IOH_WHY_MAX];

  ioh_failure_text (&failure, IOH_USAGE, IOH_END_HELPER, "parsing", IOH_NO_OFFSET, "%s", error);
  if (job->manager_fd >= 0)
    (void) ioh_manager_tell (job->manager_fd, IOH_WIRE_RESULT, ioh_result_record (&result));
  /* An old record would pass for this run's; descriptors may be what is wrong. */
  record_only.result_fd = -1;
  if (job->result && ioh_result_prepare (job, why, sizeof why))
    write_record (&record_only, &result);
  ioh_log_result (&result);
  return ioh_result_status (&result);
}
