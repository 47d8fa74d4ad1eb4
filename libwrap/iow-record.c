/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-record.c - parses the helper's events and record; see iow-record.h.
 *
 * JSON-GLib complains on stderr when a member has another type than the one
 * asked for, so every access checks first.
 */
#include <config.h>

#include "libwrap/iow-record.h"

#include <json-glib/json-glib.h>
#include <string.h>

/* ---- members of an expected type --------------------------------------------- */

static JsonNode *
value_member (JsonObject *object, const char *key, GType type)
{
  JsonNode *node = json_object_get_member (object, key);

  if (!node || !JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != type)
    return NULL;
  return node;
}

static const char *
string_member (JsonObject *object, const char *key)
{
  JsonNode *node = value_member (object, key, G_TYPE_STRING);

  return node ? json_node_get_string (node) : NULL;
}

static gboolean
size_member (JsonObject *object, const char *key, guint64 *ret_value)
{
  JsonNode *node = value_member (object, key, G_TYPE_INT64);

  if (!node || json_node_get_int (node) < 0)
    return FALSE;
  *ret_value = (guint64) json_node_get_int (node);
  return TRUE;
}

/* ---- the record ---------------------------------------------------------------- */

static IowEnd
end_of_word (const char *word)
{
  g_autoptr (GEnumClass) ends = g_type_class_ref (IOW_TYPE_END);
  GEnumValue *value = word ? g_enum_get_value_by_nick (ends, word) : NULL;

  return value ? (IowEnd) value->value : IOW_END_NONE;
}

static void
take_error (IowRecord *record, JsonObject *object)
{
  JsonNode *node = json_object_get_member (object, IOH_KEY_ERROR);
  JsonObject *error;
  guint64 offset;

  if (!node || !JSON_NODE_HOLDS_OBJECT (node))
    return;
  error = json_node_get_object (node);
  record->error_end = end_of_word (string_member (error, IOH_KEY_ERROR_END));
  record->error_errno = iow_errno_of_name (string_member (error, IOH_KEY_ERROR_ERRNO));
  if (size_member (error, IOH_KEY_ERROR_OFFSET, &offset))
    record->error_offset = (gint64) offset;
  record->message = g_strdup (string_member (error, IOH_KEY_ERROR_MESSAGE));
}

static char *
to_json (JsonNode *root)
{
  g_autoptr (JsonGenerator) generator = json_generator_new ();

  json_generator_set_root (generator, root);
  return json_generator_to_data (generator, NULL);
}

static IowRecord *
record_from (JsonNode *root, JsonObject *object)
{
  const char *word = string_member (object, IOH_KEY_OUTCOME);
  const char *direction = string_member (object, IOH_KEY_DIRECTION);
  enum ioh_outcome outcome = word ? iow_outcome_of_word (word) : IOH_N_OUTCOMES;
  IowRecord *record;
  guint64 bytes;

  if (outcome == IOH_N_OUTCOMES || !direction || !size_member (object, IOH_KEY_BYTES, &bytes))
    return NULL;
  record = g_new0 (IowRecord, 1);
  record->outcome = outcome;
  record->save = strcmp (direction, "save") == 0;
  record->bytes = bytes;
  record->error_offset = -1;
  (void) size_member (object, IOH_KEY_PIPE_SIZE, &record->pipe_size);
  record->evidence = g_strdup (string_member (object, IOH_KEY_EVIDENCE));
  record->cache = g_strdup (string_member (object, IOH_KEY_CACHE));
  take_error (record, object);
  json_object_remove_member (object, IOH_WIRE_EVENT);
  record->json = to_json (root);
  return record;
}

void
iow_record_free (IowRecord *record)
{
  if (!record)
    return;
  g_free (record->evidence);
  g_free (record->cache);
  g_free (record->message);
  g_free (record->json);
  g_free (record);
}

GError *
iow_record_to_error (const IowRecord *record)
{
  int code = iow_error_code_of (record->outcome, record->error_end);

  if (code < 0)
    return NULL;
  return g_error_new_literal (IOW_ERROR, code,
                              record->message ? record->message
                                              : iow_outcome_meaning (record->outcome));
}

/* ---- events ---------------------------------------------------------------------- */

static gboolean
event_from (JsonNode *root, IowEvent *ret_event)
{
  JsonObject *object;
  const char *word;

  if (!root || !JSON_NODE_HOLDS_OBJECT (root))
    return FALSE;
  object = json_node_get_object (root);
  word = string_member (object, IOH_WIRE_EVENT);
  if (!word)
    return FALSE;
  if (strcmp (word, IOH_WIRE_READY) == 0)
    ret_event->kind = IOW_EVENT_READY;
  else if (strcmp (word, IOH_WIRE_EOF) == 0)
    {
      ret_event->kind = IOW_EVENT_EOF;
      return size_member (object, IOH_KEY_BYTES, &ret_event->bytes);
    }
  else if (strcmp (word, IOH_WIRE_RESULT) == 0)
    {
      ret_event->kind = IOW_EVENT_RESULT;
      ret_event->record = record_from (root, object);
      return ret_event->record != NULL;
    }
  return TRUE;
}

gboolean
iow_event_parse (const char *line, gsize len, IowEvent *ret_event, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  IowEvent event = { IOW_EVENT_OTHER, 0, NULL };

  if (!json_parser_load_from_data (parser, line, (gssize) len, NULL)
      || !event_from (json_parser_get_root (parser), &event))
    {
      g_set_error (error, IOW_ERROR, IOW_ERROR_HELPER,
                   "listening to the helper: it says what this library does not understand");
      return FALSE;
    }
  *ret_event = event;
  return TRUE;
}
