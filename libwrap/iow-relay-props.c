/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-relay-props.c - IowRelay's properties.
 *
 * Settings are what the relay was constructed with; results are read through
 * the public functions of the same names.
 */
#include <config.h>

#include "libwrap/iow-relay-private.h"

#define COMMIT_GRACE_MS 2000

enum
{
  PROP_0,
  PROP_PATH,
  PROP_FD,
  PROP_DIRECTION,
  PROP_CACHE,
  PROP_SYNC,
  PROP_MODE,
  PROP_OFFSET,
  PROP_LENGTH,
  PROP_EXPECT_LENGTH,
  PROP_BUFFER_SIZE,
  PROP_IN_PLACE,
  PROP_NO_CLOBBER,
  PROP_NONBLOCK,
  PROP_HELPER_PATH,
  PROP_WAIT_TIMEOUT_MS,
  PROP_COMMIT_GRACE_MS,
  PROP_OUTCOME,
  PROP_BYTES_TRANSFERRED,
  PROP_PIPE_SIZE,
  PROP_RECORD,
  PROP_EVIDENCE,
  PROP_CACHE_USED,
  PROP_ERROR_ERRNO,
  PROP_ERROR_END,
  PROP_ERROR_OFFSET,
  N_PROPS
};

static GParamSpec *props[N_PROPS];

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  IowRelay *relay = IOW_RELAY (object);

  iow_lock (&relay->lock);
  switch (id)
    {
    case PROP_PATH:
      relay->path = g_value_dup_string (value);
      break;
    case PROP_FD:
      relay->file_fd = g_value_get_int (value);
      break;
    case PROP_DIRECTION:
      relay->direction = (IowDirection) g_value_get_enum (value);
      break;
    case PROP_CACHE:
      relay->cache = (IowCacheMode) g_value_get_enum (value);
      break;
    case PROP_SYNC:
      relay->sync = (IowSyncMode) g_value_get_enum (value);
      break;
    case PROP_MODE:
      relay->mode = g_value_get_int (value);
      break;
    case PROP_OFFSET:
      relay->offset_bytes = g_value_get_int64 (value);
      break;
    case PROP_LENGTH:
      relay->length_bytes = g_value_get_int64 (value);
      break;
    case PROP_EXPECT_LENGTH:
      relay->expect_length_bytes = g_value_get_int64 (value);
      break;
    case PROP_BUFFER_SIZE:
      relay->buffer_size_bytes = g_value_get_uint64 (value);
      break;
    case PROP_IN_PLACE:
      relay->in_place = g_value_get_boolean (value);
      break;
    case PROP_NO_CLOBBER:
      relay->no_clobber = g_value_get_boolean (value);
      break;
    case PROP_NONBLOCK:
      relay->nonblock = g_value_get_boolean (value);
      break;
    case PROP_HELPER_PATH:
      relay->helper_path = g_value_dup_string (value);
      break;
    case PROP_WAIT_TIMEOUT_MS:
      relay->wait_timeout_ms = g_value_get_uint (value);
      break;
    case PROP_COMMIT_GRACE_MS:
      relay->commit_grace_ms = g_value_get_uint (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
  iow_unlock (&relay->lock);
}

/* What was given; the lock is held.  FALSE: a result's property. */
static gboolean
get_setting (IowRelay *relay, guint id, GValue *value)
{
  switch (id)
    {
    case PROP_PATH:
      g_value_set_string (value, relay->path);
      return TRUE;
    case PROP_FD:
      g_value_set_int (value, relay->file_fd);
      return TRUE;
    case PROP_DIRECTION:
      g_value_set_enum (value, relay->direction);
      return TRUE;
    case PROP_CACHE:
      g_value_set_enum (value, relay->cache);
      return TRUE;
    case PROP_SYNC:
      g_value_set_enum (value, relay->sync);
      return TRUE;
    case PROP_MODE:
      g_value_set_int (value, relay->mode);
      return TRUE;
    case PROP_OFFSET:
      g_value_set_int64 (value, relay->offset_bytes);
      return TRUE;
    case PROP_LENGTH:
      g_value_set_int64 (value, relay->length_bytes);
      return TRUE;
    case PROP_EXPECT_LENGTH:
      g_value_set_int64 (value, relay->expect_length_bytes);
      return TRUE;
    case PROP_BUFFER_SIZE:
      g_value_set_uint64 (value, relay->buffer_size_bytes);
      return TRUE;
    case PROP_IN_PLACE:
      g_value_set_boolean (value, relay->in_place);
      return TRUE;
    case PROP_NO_CLOBBER:
      g_value_set_boolean (value, relay->no_clobber);
      return TRUE;
    case PROP_NONBLOCK:
      g_value_set_boolean (value, relay->nonblock);
      return TRUE;
    case PROP_HELPER_PATH:
      g_value_set_string (value, relay->helper_path);
      return TRUE;
    case PROP_WAIT_TIMEOUT_MS:
      g_value_set_uint (value, relay->wait_timeout_ms);
      return TRUE;
    case PROP_COMMIT_GRACE_MS:
      g_value_set_uint (value, relay->commit_grace_ms);
      return TRUE;
    default:
      return FALSE;
    }
}

static void
get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  IowRelay *relay = IOW_RELAY (object);
  gboolean done;

  iow_lock (&relay->lock);
  done = get_setting (relay, id, value);
  iow_unlock (&relay->lock);
  if (done)
    return;
  switch (id)
    {
    case PROP_OUTCOME:
      g_value_set_enum (value, iow_relay_get_outcome (relay));
      break;
    case PROP_BYTES_TRANSFERRED:
      g_value_set_uint64 (value, iow_relay_get_bytes_transferred (relay));
      break;
    case PROP_PIPE_SIZE:
      g_value_set_uint64 (value, iow_relay_get_pipe_size (relay));
      break;
    case PROP_RECORD:
      g_value_take_string (value, iow_relay_dup_record (relay));
      break;
    case PROP_EVIDENCE:
      g_value_take_string (value, iow_relay_dup_evidence (relay));
      break;
    case PROP_CACHE_USED:
      g_value_take_string (value, iow_relay_dup_cache_used (relay));
      break;
    case PROP_ERROR_ERRNO:
      g_value_set_int (value, iow_relay_get_error_errno (relay));
      break;
    case PROP_ERROR_END:
      g_value_set_enum (value, iow_relay_get_error_end (relay));
      break;
    case PROP_ERROR_OFFSET:
      g_value_set_int64 (value, iow_relay_get_error_offset (relay));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

#define ONCE (G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS)
#define ANY_TIME                                                                                   \
  (G_PARAM_READWRITE | G_PARAM_CONSTRUCT | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS)
#define RESULT (G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)

static void
define_settings (void)
{
  /**
   * IowRelay:path: (type filename)
   *
   * The file. With #IowRelay:fd it is only that file's name in messages.
   *
   * Since: 1.0
   */
  props[PROP_PATH] = g_param_spec_string ("path", NULL, NULL, NULL, ONCE);
  /**
   * IowRelay:fd:
   *
   * An open descriptor of the file, -1 for none. Not taken over; it has to stay
   * open until the relay is initialised.
   *
   * Since: 1.0
   */
  props[PROP_FD] = g_param_spec_int ("fd", NULL, NULL, -1, G_MAXINT, -1, ONCE);
  /**
   * IowRelay:direction:
   *
   * Save or restore.
   *
   * Since: 1.0
   */
  props[PROP_DIRECTION] = g_param_spec_enum ("direction", NULL, NULL, IOW_TYPE_DIRECTION,
                                             IOW_DIRECTION_SAVE, ONCE);
  /**
   * IowRelay:cache:
   *
   * How the file is accessed.
   *
   * Since: 1.0
   */
  props[PROP_CACHE] = g_param_spec_enum ("cache", NULL, NULL, IOW_TYPE_CACHE_MODE,
                                         IOW_CACHE_MODE_AUTO, ONCE);
  /**
   * IowRelay:sync:
   *
   * What a save has done by the time it is committed.
   *
   * Since: 1.0
   */
  props[PROP_SYNC] = g_param_spec_enum ("sync", NULL, NULL, IOW_TYPE_SYNC_MODE,
                                        IOW_SYNC_MODE_FULL, ONCE);
  /**
   * IowRelay:mode:
   *
   * The permissions of the file that a save makes; -1: those of the file that
   * it replaces, or 0600.
   *
   * Since: 1.0
   */
  props[PROP_MODE] = g_param_spec_int ("mode", NULL, NULL, -1, 07777, -1, ONCE);
  /**
   * IowRelay:offset:
   *
   * Where in the file to begin, in bytes; -1: at its start, or where the
   * descriptor stands. A save to a regular file by path needs #IowRelay:in-place
   * with it, and then never cuts the file.
   *
   * Since: 1.0
   */
  props[PROP_OFFSET] = g_param_spec_int64 ("offset", NULL, NULL, -1, G_MAXINT64, -1, ONCE);
  /**
   * IowRelay:length:
   *
   * Move at most so many bytes; -1: all. A save whose stream goes on fails.
   *
   * Since: 1.0
   */
  props[PROP_LENGTH] = g_param_spec_int64 ("length", NULL, NULL, -1, G_MAXINT64, -1, ONCE);
  /**
   * IowRelay:expect-length:
   *
   * Exactly so many bytes have to come, or the relay fails; -1: any.
   *
   * Since: 1.0
   */
  props[PROP_EXPECT_LENGTH]
      = g_param_spec_int64 ("expect-length", NULL, NULL, -1, G_MAXINT64, -1, ONCE);
  /**
   * IowRelay:buffer-size:
   *
   * How many bytes to move at a time; 0: what the helper finds best.
   *
   * Since: 1.0
   */
  props[PROP_BUFFER_SIZE]
      = g_param_spec_uint64 ("buffer-size", NULL, NULL, 0, G_MAXINT64, 0, ONCE);
  /**
   * IowRelay:in-place:
   *
   * A save writes to the file itself, whose old content is lost from the first
   * byte on.
   *
   * Since: 1.0
   */
  props[PROP_IN_PLACE] = g_param_spec_boolean ("in-place", NULL, NULL, FALSE, ONCE);
  /**
   * IowRelay:no-clobber:
   *
   * A save never replaces a file that exists.
   *
   * Since: 1.0
   */
  props[PROP_NO_CLOBBER] = g_param_spec_boolean ("no-clobber", NULL, NULL, FALSE, ONCE);
  /**
   * IowRelay:nonblock:
   *
   * The descriptor of iow_relay_get_fd() is non-blocking.
   *
   * Since: 1.0
   */
  props[PROP_NONBLOCK] = g_param_spec_boolean ("nonblock", NULL, NULL, FALSE, ONCE);
  /**
   * IowRelay:helper-path: (type filename)
   *
   * The helper program, an absolute name; %NULL: the environment variable
   * IOWRAP_HELPER, unless the process runs with raised privileges, else the one
   * that was installed with the library.
   *
   * Since: 1.0
   */
  props[PROP_HELPER_PATH] = g_param_spec_string ("helper-path", NULL, NULL, NULL, ONCE);
  /**
   * IowRelay:wait-timeout-ms:
   *
   * After how many milliseconds iow_relay_commit() and iow_relay_wait() stop to
   * wait, with %G_IO_ERROR_TIMED_OUT; 0: never.
   *
   * Since: 1.0
   */
  props[PROP_WAIT_TIMEOUT_MS]
      = g_param_spec_uint ("wait-timeout-ms", NULL, NULL, 0, G_MAXUINT, 0, ANY_TIME);
  /**
   * IowRelay:commit-grace-ms:
   *
   * How many milliseconds iow_relay_commit() gives the last writer to close the
   * pipe before it says %IOW_ERROR_WRITER_OPEN.
   *
   * Since: 1.0
   */
  props[PROP_COMMIT_GRACE_MS] = g_param_spec_uint ("commit-grace-ms", NULL, NULL, 0, G_MAXUINT,
                                                   COMMIT_GRACE_MS, ANY_TIME);
}

/* Each is described at the function that reads it. */
static void
define_results (void)
{
  props[PROP_OUTCOME] = g_param_spec_enum ("outcome", NULL, NULL, IOW_TYPE_OUTCOME,
                                           IOW_OUTCOME_UNDECIDED, RESULT);
  props[PROP_BYTES_TRANSFERRED]
      = g_param_spec_uint64 ("bytes-transferred", NULL, NULL, 0, G_MAXUINT64, 0, RESULT);
  props[PROP_PIPE_SIZE]
      = g_param_spec_uint64 ("pipe-size", NULL, NULL, 0, G_MAXUINT64, 0, RESULT);
  props[PROP_RECORD] = g_param_spec_string ("record", NULL, NULL, NULL, RESULT);
  props[PROP_EVIDENCE] = g_param_spec_string ("evidence", NULL, NULL, NULL, RESULT);
  props[PROP_CACHE_USED] = g_param_spec_string ("cache-used", NULL, NULL, NULL, RESULT);
  props[PROP_ERROR_ERRNO]
      = g_param_spec_int ("error-errno", NULL, NULL, 0, G_MAXINT, 0, RESULT);
  props[PROP_ERROR_END]
      = g_param_spec_enum ("error-end", NULL, NULL, IOW_TYPE_END, IOW_END_NONE, RESULT);
  props[PROP_ERROR_OFFSET]
      = g_param_spec_int64 ("error-offset", NULL, NULL, -1, G_MAXINT64, -1, RESULT);
}

void
iow_relay_install_properties (GObjectClass *object_class)
{
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  define_settings ();
  define_results ();
  g_object_class_install_properties (object_class, N_PROPS, props);
}
