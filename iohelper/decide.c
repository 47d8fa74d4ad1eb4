/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * decide.c - the worker's messages, and when a save may be committed.
 */
#include <config.h>

#include "iohelper/controller.h"
#include "iohelper/status.h"
#include "iohelper/tunables.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Each would wait for the other for ever.  It may have reported all the same,
 * which is looked at when it is gone. */
static void
lose_worker (struct ioh_controller *c, int err)
{
  c->talk_error = err;
  kill (c->worker, SIGKILL);
}

static void
tell_worker (struct ioh_controller *c, enum ioh_msg_type type)
{
  int r = ioh_msg_send (c->sock, type, 0, -1);

  if (r < 0 && r != -EPIPE && r != -ECONNRESET)
    lose_worker (c, -r);
}

static void
refuse_length (struct ioh_controller *c)
{
  bool more = c->eof_bytes > (uint64_t) c->manager_expects;
  char message[120];

  snprintf (message, sizeof message, "the stream has %llu bytes, and its manager expected %lld",
            (unsigned long long) c->eof_bytes, (long long) c->manager_expects);
  (void) ioh_controller_give_up (c, more ? IOH_TOO_LONG : IOH_TRUNCATED, IOH_END_SOURCE,
                                 "cancelling", message);
}

void
ioh_controller_maybe_commit (struct ioh_controller *c)
{
  const struct ioh_job *job = c->job;

  if (!c->eof || c->commit_sent || c->own.set)
    return;
  if ((job->command && c->command_status != 0) || (job->commit_fd >= 0 && !c->commit_byte)
      || (job->manager_fd >= 0 && !c->manager_commit))
    return;
  if (job->manager_fd >= 0 && c->manager_expects >= 0
      && c->eof_bytes != (uint64_t) c->manager_expects)
    {
      refuse_length (c);
      return;
    }
  c->commit_sent = true;
  tell_worker (c, IOH_MSG_COMMIT);
}

static void
tell_manager (struct ioh_controller *c, const char *event, struct json_object *object)
{
  if (ioh_manager_tell (c->job->manager_fd, event, object) < 0)
    (void) ioh_controller_give_up (c, IOH_FAILED, IOH_END_HELPER, "telling",
                                   "no memory for a word to the manager");
}

static void
tell_eof (struct ioh_controller *c)
{
  struct json_object *object = json_object_new_object ();

  if (object)
    json_object_object_add (object, IOH_KEY_BYTES, json_object_new_uint64 (c->eof_bytes));
  tell_manager (c, IOH_WIRE_EOF, object);
}

static void
take_message (struct ioh_controller *c, const struct ioh_msg *msg, int fd)
{
  bool managed = c->job->manager_fd >= 0;

  switch (msg->type)
    {
    case IOH_MSG_READY:
      if (managed)
        tell_manager (c, IOH_WIRE_READY, NULL);
      break;
    case IOH_MSG_EOF:
      c->eof = true;
      c->eof_bytes = msg->value;
      if (managed)
        tell_eof (c);
      ioh_controller_maybe_commit (c);
      break;
    case IOH_MSG_CREDIT:
      atomic_store (&c->shared->granted, msg->value + IOH_CREDIT_WINDOW);
      break;
    case IOH_MSG_WAIT:
      atomic_store (&c->shared->granted, msg->value + IOH_CREDIT_WINDOW);
      tell_worker (c, IOH_MSG_GRANT);
      break;
    case IOH_MSG_TEMP:
      if (c->temp_dir >= 0)
        close (c->temp_dir);
      c->temp_dir = fd;
      fd = -1;
      break;
    default:
      break;
    }
  if (fd >= 0)
    close (fd);
}

void
ioh_controller_drain (struct ioh_controller *c)
{
  struct ioh_msg msg;
  int fd, r;

  while ((r = ioh_msg_receive (c->sock, &msg, &fd, false)) == 0)
    take_message (c, &msg, fd);
  if (r == -EAGAIN || r == -EINTR)
    return;
  /* At the pair's end the event would fire for ever; the worker's end is told
   * by SIGCHLD. */
  if (c->worker_event)
    event_del (c->worker_event);
  if (r != -ENOTCONN && !c->worker_gone && !ioh_worker_reported (c->shared))
    lose_worker (c, -r);
}

void
ioh_controller_on_commit_fd (evutil_socket_t fd, short what, void *ctx)
{
  struct ioh_controller *c = ctx;
  char byte;
  ssize_t n = read (fd, &byte, 1);

  (void) what;
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  event_del (c->commit_event);
  if (n == 1)
    {
      c->commit_byte = true;
      ioh_controller_maybe_commit (c);
    }
  else
    (void) ioh_controller_cancel (c, "since --commit-fd was closed");
}

void
ioh_controller_drop_log (int severity, const char *text)
{
  (void) severity;
  (void) text;
}

static void
on_manager_commit (void *ctx, int64_t expected)
{
  struct ioh_controller *c = ctx;

  if (c->manager_commit)
    return;
  c->manager_commit = true;
  c->manager_expects = expected;
  ioh_controller_maybe_commit (c);
}

static void
on_manager_cancel (void *ctx, const char *why)
{
  (void) ioh_controller_cancel (ctx, why);
}

void
ioh_controller_join_manager (struct ioh_controller *c)
{
  c->manager.on_commit = on_manager_commit;
  c->manager.on_cancel = on_manager_cancel;
  c->manager.ctx = c;
}
