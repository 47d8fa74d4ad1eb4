/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * manager.c - see manager.h.
 */
#include <config.h>

#include "iohelper/manager.h"

#include "iohelper/status.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define LINE_MAX_BYTES 4096

/* A JSON string may hold a NUL. */
static bool
is_word (struct json_object *string, const char *word)
{
  return (size_t) json_object_get_string_len (string) == strlen (word)
         && strcmp (json_object_get_string (string), word) == 0;
}

/* One object and nothing behind it; NULL for anything else. */
static struct json_object *
parse_whole (const char *line, size_t len)
{
  struct json_tokener *tokener = json_tokener_new ();
  struct json_object *o = NULL;

  if (!tokener)
    return NULL;
  json_tokener_set_flags (tokener, JSON_TOKENER_STRICT);
  o = json_tokener_parse_ex (tokener, line, (int) len);
  if (json_tokener_get_error (tokener) != json_tokener_success
      || json_tokener_get_parse_end (tokener) != len || !json_object_is_type (o, json_type_object))
    {
      json_object_put (o);
      o = NULL;
    }
  json_tokener_free (tokener);
  return o;
}

static bool
obey (struct ioh_manager *m, struct json_object *request)
{
  struct json_object *command, *expected;
  int64_t bytes;

  if (!json_object_object_get_ex (request, IOH_WIRE_COMMAND, &command)
      || !json_object_is_type (command, json_type_string))
    return false;
  if (is_word (command, IOH_WIRE_CANCEL))
    {
      m->on_cancel (m->ctx, "by its manager");
      return true;
    }
  if (!is_word (command, IOH_WIRE_COMMIT)
      || !json_object_object_get_ex (request, IOH_WIRE_EXPECTED_BYTES, &expected)
      || !json_object_is_type (expected, json_type_int))
    return false;
  bytes = json_object_get_int64 (expected);
  if (bytes < -1)
    return false;
  m->on_commit (m->ctx, bytes);
  return true;
}

static void
take_line (struct ioh_manager *m, const char *line, size_t len)
{
  struct json_object *request = parse_whole (line, len);

  if (!request || !obey (m, request))
    m->on_cancel (m->ctx, "since its manager sent what is no request");
  json_object_put (request);
}

static void
on_readable (evutil_socket_t fd, short what, void *ctx)
{
  struct ioh_manager *m = ctx;
  int n = evbuffer_read (m->input, fd, LINE_MAX_BYTES);
  size_t len;
  char *line;

  (void) what;
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  while (n > 0 && (line = evbuffer_readln (m->input, &len, EVBUFFER_EOL_LF)) != NULL)
    {
      take_line (m, line, len);
      free (line);
    }
  if (n > 0 && evbuffer_get_length (m->input) < LINE_MAX_BYTES)
    return;
  event_del (m->event);
  m->on_cancel (m->ctx, n > 0 ? "since its manager sent an endless line"
                              : "since its manager went away");
}

int
ioh_manager_start (struct ioh_manager *m, struct event_base *base, int fd)
{
  m->input = evbuffer_new ();
  m->event = event_new (base, fd, EV_READ | EV_PERSIST, on_readable, m);
  if (!m->input || !m->event || event_add (m->event, NULL) < 0)
    return -ENOMEM;
  return 0;
}

int
ioh_manager_tell (int fd, const char *name, struct json_object *object)
{
  struct json_object *word = json_object_new_string (name);
  char *line = NULL;
  int n;

  if (!object)
    object = json_object_new_object ();
  if (!object || !word || json_object_object_add (object, IOH_WIRE_EVENT, word) < 0)
    {
      json_object_put (word);
      json_object_put (object);
      return -ENOMEM;
    }
  n = asprintf (&line, "%s\n",
                json_object_to_json_string_ext (object, JSON_C_TO_STRING_PLAIN
                                                          | JSON_C_TO_STRING_NOSLASHESCAPE));
  json_object_put (object);
  if (n < 0)
    return -ENOMEM;
  while (send (fd, line, (size_t) n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
    ;
  free (line);
  return 0;
}

void
ioh_manager_stop (struct ioh_manager *m)
{
  if (m->event)
    event_free (m->event);
  if (m->input)
    evbuffer_free (m->input);
  m->event = NULL;
  m->input = NULL;
}
