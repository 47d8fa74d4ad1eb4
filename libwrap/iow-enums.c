/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-enums.c - the enumerations' types.
 *
 * Invariant: a nick is the word that the command line or the record uses.
 */
#include <config.h>

#include "libwrap/iow-private.h"

static GType
register_once (gsize *type, const char *name, const GEnumValue *values)
{
  if (g_once_init_enter (type))
    g_once_init_leave (type, g_enum_register_static (name, values));
  return *type;
}

#define VALUE(v, nick) { v, #v, nick }
#define LAST { 0, NULL, NULL }

GType
iow_direction_get_type (void)
{
  static gsize type;
  static const GEnumValue values[] = {
    VALUE (IOW_DIRECTION_SAVE, "save"),
    VALUE (IOW_DIRECTION_RESTORE, "restore"),
    LAST,
  };
  return register_once (&type, "IowDirection", values);
}

GType
iow_cache_mode_get_type (void)
{
  static gsize type;
  static const GEnumValue values[] = {
    VALUE (IOW_CACHE_MODE_AUTO, "auto"),
    VALUE (IOW_CACHE_MODE_DIRECT, "direct"),
    VALUE (IOW_CACHE_MODE_DROP, "drop"),
    VALUE (IOW_CACHE_MODE_KEEP, "keep"),
    LAST,
  };
  return register_once (&type, "IowCacheMode", values);
}

GType
iow_sync_mode_get_type (void)
{
  static gsize type;
  static const GEnumValue values[] = {
    VALUE (IOW_SYNC_MODE_NONE, "none"),
    VALUE (IOW_SYNC_MODE_DATA, "data"),
    VALUE (IOW_SYNC_MODE_FULL, "full"),
    LAST,
  };
  return register_once (&type, "IowSyncMode", values);
}

GType
iow_end_get_type (void)
{
  static gsize type;
  static const GEnumValue values[] = {
    VALUE (IOW_END_NONE, "none"),
    VALUE (IOW_END_SOURCE, "source"),
    VALUE (IOW_END_DESTINATION, "destination"),
    VALUE (IOW_END_HELPER, "helper"),
    LAST,
  };
  return register_once (&type, "IowEnd", values);
}

/* The library counts from "undecided", the table from its first outcome. */
#define X(name, word, status, code, meaning)                                                       \
  G_STATIC_ASSERT ((int) IOW_OUTCOME_##name == (int) IOH_##name + 1);
IOH_OUTCOMES (X)
#undef X

GType
iow_outcome_get_type (void)
{
  static gsize type;
  static const GEnumValue values[] = {
    VALUE (IOW_OUTCOME_UNDECIDED, "undecided"),
#define X(name, word, status, code, meaning) VALUE (IOW_OUTCOME_##name, word),
    IOH_OUTCOMES (X)
#undef X
    LAST,
  };
  return register_once (&type, "IowOutcome", values);
}

GType
iow_error_get_type (void)
{
  static gsize type;
  static const GEnumValue values[] = {
    VALUE (IOW_ERROR_NOT_READY, "not-ready"),
    VALUE (IOW_ERROR_INVALID, "invalid"),
    VALUE (IOW_ERROR_SOURCE, "source"),
    VALUE (IOW_ERROR_DESTINATION, "destination"),
    VALUE (IOW_ERROR_NO_SPACE, "no-space"),
    VALUE (IOW_ERROR_TRUNCATED, "truncated"),
    VALUE (IOW_ERROR_TOO_LONG, "too-long"),
    VALUE (IOW_ERROR_CONSUMER_CLOSED, "consumer-closed"),
    VALUE (IOW_ERROR_STALLED, "stalled"),
    VALUE (IOW_ERROR_CANCELLED, "cancelled"),
    VALUE (IOW_ERROR_EXISTS, "exists"),
    VALUE (IOW_ERROR_WRITER_OPEN, "writer-open"),
    VALUE (IOW_ERROR_HELPER, "helper"),
    LAST,
  };
  return register_once (&type, "IowError", values);
}
