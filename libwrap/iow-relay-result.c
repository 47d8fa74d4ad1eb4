/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-relay-result.c - what became of a relay, as far as it is known.
 *
 * Each function takes the link's lock once and copies; before the start, and
 * where the helper left no record, there is a value that says so.
 */
#include <config.h>

#include "libwrap/iow-relay-private.h"

/* What is copied out of a link by one look at it. */
typedef struct
{
  IowOutcome outcome;
  guint64 bytes;
  IowEnd error_end;
  int error_errno;
  gint64 error_offset;
} Facts;

static Facts
look (IowRelay *relay)
{
  g_autoptr (IowLink) link = iow_relay_ref_link (relay, NULL);
  Facts facts = { IOW_OUTCOME_UNDECIDED, 0, IOW_END_NONE, 0, -1 };

  if (!link)
    return facts;
  iow_lock (&link->lock);
  facts.outcome = link->outcome;
  facts.bytes = link->eof_bytes;
  if (link->record)
    {
      facts.bytes = link->record->bytes;
      facts.error_end = link->record->error_end;
      facts.error_errno = link->record->error_errno;
      facts.error_offset = link->record->error_offset;
    }
  else if (link->outcome == IOW_OUTCOME_FAILED)
    facts.error_end = IOW_END_HELPER;
  iow_unlock (&link->lock);
  return facts;
}

IowOutcome
iow_relay_get_outcome (IowRelay *relay)
{
  g_return_val_if_fail (IOW_IS_RELAY (relay), IOW_OUTCOME_UNDECIDED);

  return look (relay).outcome;
}

guint64
iow_relay_get_bytes_transferred (IowRelay *relay)
{
  g_return_val_if_fail (IOW_IS_RELAY (relay), 0);

  return look (relay).bytes;
}

int
iow_relay_get_error_errno (IowRelay *relay)
{
  g_return_val_if_fail (IOW_IS_RELAY (relay), 0);

  return look (relay).error_errno;
}

IowEnd
iow_relay_get_error_end (IowRelay *relay)
{
  g_return_val_if_fail (IOW_IS_RELAY (relay), IOW_END_NONE);

  return look (relay).error_end;
}

gint64
iow_relay_get_error_offset (IowRelay *relay)
{
  g_return_val_if_fail (IOW_IS_RELAY (relay), -1);

  return look (relay).error_offset;
}

guint64
iow_relay_get_pipe_size (IowRelay *relay)
{
  guint64 size;

  g_return_val_if_fail (IOW_IS_RELAY (relay), 0);

  iow_lock (&relay->lock);
  size = relay->pipe_size_bytes;
  iow_unlock (&relay->lock);
  return size;
}

/* A copy of the string at OFFSET of the record, or NULL. */
static char *
dup_from_record (IowRelay *relay, gsize offset)
{
  g_autoptr (IowLink) link = iow_relay_ref_link (relay, NULL);
  char *copy = NULL;

  if (!link)
    return NULL;
  iow_lock (&link->lock);
  if (link->record)
    copy = g_strdup (G_STRUCT_MEMBER (char *, link->record, offset));
  iow_unlock (&link->lock);
  return copy;
}

char *
iow_relay_dup_record (IowRelay *relay)
{
  g_return_val_if_fail (IOW_IS_RELAY (relay), NULL);

  return dup_from_record (relay, G_STRUCT_OFFSET (IowRecord, json));
}

char *
iow_relay_dup_evidence (IowRelay *relay)
{
  g_return_val_if_fail (IOW_IS_RELAY (relay), NULL);

  return dup_from_record (relay, G_STRUCT_OFFSET (IowRecord, evidence));
}

char *
iow_relay_dup_cache_used (IowRelay *relay)
{
  g_return_val_if_fail (IOW_IS_RELAY (relay), NULL);

  return dup_from_record (relay, G_STRUCT_OFFSET (IowRecord, cache));
}
