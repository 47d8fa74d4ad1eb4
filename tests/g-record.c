/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-record.c - the lines of the private socket, well-formed and otherwise.
 */
#include <config.h>

#include "tests/g-common.h"

#include "libwrap/iow-record.h"

#include <errno.h>
#include <string.h>

static GError *error;

static gboolean
parse (const char *line, IowEvent *event)
{
  return iow_event_parse (line, strlen (line), event, &error);
}

static void
outcomes (void)
{
  static const struct
  {
    const char *word;
    int code; /* -1: success */
  } table[] = {
    { "committed", -1 },
    { "delivered", -1 },
    { "failed", IOW_ERROR_DESTINATION },
    { "usage", IOW_ERROR_INVALID },
    { "truncated", IOW_ERROR_TRUNCATED },
    { "too-long", IOW_ERROR_TOO_LONG },
    { "consumer-closed", IOW_ERROR_CONSUMER_CLOSED },
    { "stalled", IOW_ERROR_STALLED },
    { "cancelled", IOW_ERROR_CANCELLED },
    { "exists", IOW_ERROR_EXISTS },
    { "no-space", IOW_ERROR_NO_SPACE },
  };
  GEnumClass *nicks = g_type_class_ref (IOW_TYPE_OUTCOME);

  is_int (G_N_ELEMENTS (table), IOH_N_OUTCOMES, "the table below has every outcome");
  for (gsize i = 0; i < G_N_ELEMENTS (table); i++)
    {
      g_autofree char *line = g_strdup_printf (
        "{\"event\":\"result\",\"direction\":\"save\",\"outcome\":\"%s\",\"bytes\":1}",
        table[i].word);
      GEnumValue *value = g_enum_get_value_by_nick (nicks, table[i].word);
      g_autoptr (GError) got = NULL;
      IowEvent event;

      if (!ok (parse (line, &event), "a record that says '%s' is understood", table[i].word))
        bail_out ("%s", error->message);
      got = iow_record_to_error (event.record);
      is_int (got ? got->code : -1, table[i].code, "and stands for the right error");
      ok (value && value->value == (int) event.record->outcome + 1,
          "and is a nick of IowOutcome, at the right place");
      iow_record_free (event.record);
    }
  g_type_class_unref (nicks);
}

static void
whole_record (void)
{
  IowEvent event;
  g_autoptr (GError) got = NULL;

  if (!parse ("{\"event\":\"result\",\"version\":1,\"direction\":\"save\",\"outcome\":\"failed\","
              "\"bytes\":9007199254740993,\"pipe_size\":1048576,\"evidence\":\"manager\","
              "\"cache\":\"direct\",\"error\":{\"end\":\"source\",\"operation\":\"reading\","
              "\"errno\":\"EIO\",\"text\":\"Input/output error\",\"offset\":9007199254740993,"
              "\"message\":\"reading 'x': Input/output error\"}}",
              &event))
    bail_out ("%s", error->message);
  ok (event.record->bytes == G_GUINT64_CONSTANT (9007199254740993)
        && event.record->error_offset == G_GINT64_CONSTANT (9007199254740993),
      "sizes that a floating-point number cannot hold come through");
  is_int ((intmax_t) event.record->pipe_size, 1048576, "the pipe's size comes through");
  is_str (event.record->evidence, "manager", "so does the evidence");
  is_str (event.record->cache, "direct", "so does the cache mode");
  is_int (event.record->error_end, IOW_END_SOURCE, "so does the end that failed");
  is_int (event.record->error_errno, EIO, "so does the errno, as a number");
  ok (!strstr (event.record->json, "\"event\"") && strstr (event.record->json, "\"version\":1"),
      "the record as text has its keys, and not the word that carried it");
  got = iow_record_to_error (event.record);
  ok (g_error_matches (got, IOW_ERROR, IOW_ERROR_SOURCE), "a source that failed is that error");
  is_str (got->message, "reading 'x': Input/output error", "in the helper's own words");
  iow_record_free (event.record);
}

static void
events (void)
{
  IowEvent event;

  ok (parse ("{\"event\":\"ready\"}", &event) && event.kind == IOW_EVENT_READY,
      "ready is understood");
  ok (parse ("{\"event\":\"eof\",\"bytes\":1099511627777}", &event) && event.kind == IOW_EVENT_EOF
        && event.bytes == G_GUINT64_CONSTANT (1099511627777),
      "end of file is understood, with its bytes");
  ok (parse ("{\"event\":\"progress\",\"bytes\":1}", &event) && event.kind == IOW_EVENT_OTHER,
      "an event of a later version is left alone");
}

static void
nonsense (void)
{
  static const char *const lines[] = {
    "",
    " ",
    "hello",
    "{",
    "[]",
    "1",
    "null",
    "{}",
    "{\"event\":1}",
    "{\"event\":null}",
    "{\"event\":[\"ready\"]}",
    "{\"event\":\"eof\"}",
    "{\"event\":\"eof\",\"bytes\":-1}",
    "{\"event\":\"eof\",\"bytes\":\"5\"}",
    "{\"event\":\"eof\",\"bytes\":1.5}",
    "{\"event\":\"result\"}",
    "{\"event\":\"result\",\"outcome\":\"committed\",\"bytes\":1}",
    "{\"event\":\"result\",\"direction\":\"save\",\"outcome\":\"good\",\"bytes\":1}",
    "{\"event\":\"result\",\"direction\":\"save\",\"outcome\":\"committed\"}",
    "{\"event\":\"result\",\"direction\":\"save\",\"outcome\":{},\"bytes\":1}",
    "{\"event\":\"ready\"} trailing",
    "\xff\xfe",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      IowEvent event;
      ok (!parse (lines[i], &event), "the line %s is refused", i == 21 ? "of bad UTF-8" : lines[i]);
      g_clear_error (&error);
    }
  is_int (criticals_taken (), 0, "and GLib has nothing to complain about");
}

static void
errno_names (void)
{
  is_int (iow_errno_of_name ("ENOSPC"), ENOSPC, "ENOSPC has its number");
  is_int (iow_errno_of_name ("errno 4000"), 4000, "a number without a name is taken as it is");
  is_int (iow_errno_of_name ("ENOSUCHTHING"), 0, "an unknown name is no number");
  is_int (iow_errno_of_name (NULL), 0, "nor is no name");
}

static void
enum_nicks (void)
{
  static const struct
  {
    GType (*type) (void);
    const char *words;
  } table[] = {
    { iow_direction_get_type, "save restore" },
    { iow_cache_mode_get_type, "auto direct drop keep" },
    { iow_sync_mode_get_type, "none data full" },
    { iow_end_get_type, "none source destination helper" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (table); i++)
    {
      GEnumClass *values = g_type_class_ref (table[i].type ());
      g_autoptr (GString) got = g_string_new (NULL);

      for (guint j = 0; j < values->n_values; j++)
        g_string_append_printf (got, "%s%s", j ? " " : "", values->values[j].value_nick);
      is_str (got->str, table[i].words, "the nicks of %s are the command line's words",
              g_type_name (table[i].type ()));
      g_type_class_unref (values);
    }
}

int
main (void)
{
  g_common_start ();
  outcomes ();
  whole_record ();
  events ();
  nonsense ();
  errno_names ();
  enum_nicks ();
  return done_testing ();
}
