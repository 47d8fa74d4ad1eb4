/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * manager.h - the private socket to a managing program (libiowrap): one JSON
 * object a line, both ways; the words are in status.h.
 *
 * Owner: the controller.  Invariant: what a manager sends, however malformed,
 * can only lead to a cancel.
 */
#ifndef IOH_MANAGER_H
#define IOH_MANAGER_H

#include <event2/event.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct evbuffer;

struct ioh_manager
{
  struct event *event;
  struct evbuffer *input;
  /* A commit was asked for; EXPECTED is -1 for any length. */
  void (*on_commit) (void *ctx, int64_t expected);
  /* A cancel was asked for, the manager is gone, or it does not make sense:
   * WHY is a clause for the message. */
  void (*on_cancel) (void *ctx, const char *why);
  void *ctx;
};

/* 0 or -ENOMEM. */
int ioh_manager_start (struct ioh_manager *m, struct event_base *base, int fd);

/* Sends {"event":NAME} over FD with the members of OBJECT (NULL: none), taking
 * the reference.  A manager that is gone or does not read is not waited for.  0, or
 * -ENOMEM. */
int ioh_manager_tell (int fd, const char *name, struct json_object *object);

void ioh_manager_stop (struct ioh_manager *m);

#endif
