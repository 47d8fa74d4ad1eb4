/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * result.c - builds the record; see status.h for its keys.
 */
#include <config.h>

#include "iohelper/result.h"

#include "iohelper/status.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define X(name, word, status, code, meaning) [IOH_##name] = word,
static const char *const outcome_words[] = { IOH_OUTCOMES (X) };
#undef X
#define X(name, word, status, code, meaning) [IOH_##name] = status,
static const int statuses[] = { IOH_OUTCOMES (X) };
#undef X
#define X(name, word) [IOH_TARGET_##name] = word,
static const char *const target_words[] = { IOH_TARGETS (X) };
#undef X
static const char *const mode_words[] = { "operator", "libvirt", "library" };
static const char *const end_words[] = { NULL, "source", "destination", "helper" };
static const char *const sync_words[] = { "none", "data", "full", "none" };

int
ioh_result_status (const struct ioh_result *r)
{
  if (r->job->mode != IOH_MODE_LIBVIRT)
    return statuses[r->outcome];
  /* The reader's own reason is the one that libvirt has to show. */
  return r->outcome == IOH_COMMITTED || r->outcome == IOH_DELIVERED
             || r->outcome == IOH_CONSUMER_CLOSED
           ? 0
           : 1;
}

/* JSON is UTF-8, a file name is any bytes.  The length of the character at P,
 * or 0: overlong forms, surrogates and what is beyond Unicode are none. */
static unsigned
utf8_length (const unsigned char *p)
{
  unsigned more = p[0] < 0x80 ? 0 : p[0] < 0xc2 ? 4 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2
                  : p[0] < 0xf5 ? 3 : 4;

  if (more == 4 || (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)
      || (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
    return 0;
  for (unsigned i = 1; i <= more; i++)
    if ((p[i] & 0xc0) != 0x80)
      return 0;
  return more + 1;
}

static bool
is_utf8 (const char *text)
{
  const unsigned char *p = (const unsigned char *) text;
  unsigned n = 1;

  for (; *p && n; p += n)
    n = utf8_length (p);
  return n != 0;
}

/* Words for people: what is no character becomes '?'. */
static struct json_object *
readable (const char *text)
{
  char copy[sizeof ((struct ioh_failure *) 0)->message];
  unsigned char *p = (unsigned char *) copy;

  snprintf (copy, sizeof copy, "%s", text);
  while (*p)
    {
      unsigned n = utf8_length (p);
      if (n == 0)
        *p = '?';
      p += n ? n : 1;
    }
  return json_object_new_string (copy);
}

static void
add_text (struct json_object *o, const char *key, const char *text)
{
  json_object_object_add (o, key, text ? readable (text) : NULL);
}

/* A name is exact or it is nothing. */
static void
add_name (struct json_object *o, const char *key, const char *name)
{
  bool exact = name && strlen (name) < PATH_MAX && is_utf8 (name);

  json_object_object_add (o, key, exact ? json_object_new_string (name) : NULL);
}

static void
add_size (struct json_object *o, const char *key, uint64_t value)
{
  json_object_object_add (o, key, json_object_new_uint64 (value));
}

static struct json_object *
error_object (const struct ioh_failure *f)
{
  struct json_object *o;

  if (!f)
    return NULL;
  o = json_object_new_object ();
  if (!o)
    return NULL;
  add_text (o, IOH_KEY_ERROR_END, end_words[f->end]);
  add_text (o, IOH_KEY_ERROR_OPERATION, f->operation);
  add_text (o, IOH_KEY_ERROR_ERRNO, f->err ? ioh_errno_name (f->err) : NULL);
  add_text (o, IOH_KEY_ERROR_TEXT, f->text);
  if (f->offset == IOH_NO_OFFSET)
    json_object_object_add (o, IOH_KEY_ERROR_OFFSET, NULL);
  else
    add_size (o, IOH_KEY_ERROR_OFFSET, f->offset);
  add_text (o, IOH_KEY_ERROR_MESSAGE, f->message);
  return o;
}

/* What was really used, as far as the relay came. */
static void
add_report (struct json_object *o, const struct ioh_result *r)
{
  const struct ioh_report *report = r->report;

  add_text (o, IOH_KEY_ENGINE, *report->engine ? report->engine : NULL);
  add_text (o, IOH_KEY_ENGINE_WHY, *report->engine ? report->engine_why : NULL);
  add_text (o, IOH_KEY_CACHE, *report->cache ? report->cache : NULL);
  add_text (o, IOH_KEY_CACHE_WHY, *report->cache ? report->cache_why : NULL);
  if (r->job->direction == IOH_SAVE)
    {
      add_text (o, IOH_KEY_SYNC, sync_words[report->sync]);
      json_object_object_add (o, IOH_KEY_SYNCED, json_object_new_boolean (report->synced));
    }
  if (report->pipe_size)
    add_size (o, IOH_KEY_PIPE_SIZE, report->pipe_size);
  else
    json_object_object_add (o, IOH_KEY_PIPE_SIZE, NULL);
  add_size (o, IOH_KEY_BUFFER_SIZE, report->buffer_size);
}

static void
add_warnings (struct json_object *o, const struct ioh_report *report)
{
  struct json_object *list;

  if (report->n_warnings == 0)
    return;
  list = json_object_new_array ();
  for (unsigned i = 0; list && i < report->n_warnings; i++)
    json_object_array_add (list, readable (report->warnings[i]));
  json_object_object_add (o, IOH_KEY_WARNINGS, list);
}

static void
add_signal (struct json_object *o, int number)
{
  char name[32];
  const char *abbrev = sigabbrev_np (number);

  snprintf (name, sizeof name, "SIG%s", abbrev ? abbrev : "?");
  add_text (o, IOH_KEY_SIGNAL, name);
}

/* Microseconds are enough, and 17 digits are no help to anybody. */
static void
add_seconds (struct json_object *o, double seconds)
{
  char text[32];

  snprintf (text, sizeof text, "%.6f", seconds);
  json_object_object_add (o, IOH_KEY_SECONDS, json_object_new_double_s (seconds, text));
}

struct json_object *
ioh_result_record (const struct ioh_result *r)
{
  struct json_object *o = json_object_new_object ();

  if (!o)
    return NULL;
  json_object_object_add (o, IOH_KEY_VERSION, json_object_new_int (IOH_RECORD_VERSION));
  add_text (o, IOH_KEY_PROGRAM, PACKAGE_STRING);
  add_text (o, IOH_KEY_MODE, mode_words[r->job->mode]);
  add_text (o, IOH_KEY_DIRECTION, r->job->direction == IOH_SAVE ? "save" : "restore");
  add_name (o, IOH_KEY_FILE, r->job->file);
  add_text (o, IOH_KEY_OUTCOME, outcome_words[r->outcome]);
  json_object_object_add (o, IOH_KEY_EXIT_STATUS,
                          r->signal ? NULL : json_object_new_int (ioh_result_status (r)));
  if (r->signal)
    add_signal (o, r->signal);
  add_size (o, IOH_KEY_BYTES, r->bytes);
  add_seconds (o, r->seconds);
  add_size (o, IOH_KEY_THROUGHPUT,
            r->seconds > 0 ? (uint64_t) ((double) r->bytes / r->seconds) : 0);
  add_report (o, r);
  if (r->job->direction == IOH_SAVE)
    {
      add_text (o, IOH_KEY_EVIDENCE, r->evidence);
      add_text (o, IOH_KEY_FORMAT, ioh_format_word (r->report->format));
      add_text (o, IOH_KEY_TARGET, target_words[r->target]);
    }
  if (r->command_status >= 0)
    json_object_object_add (o, IOH_KEY_COMMAND_STATUS, json_object_new_int (r->command_status));
  add_text (o, IOH_KEY_DATA_PLANE, r->data_plane);
  if (r->worker_pid > 0)
    json_object_object_add (o, IOH_KEY_WORKER_PID, json_object_new_int ((int) r->worker_pid));
  add_warnings (o, r->report);
  json_object_object_add (o, IOH_KEY_ERROR, error_object (r->failure));
  return o;
}
