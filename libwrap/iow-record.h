/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-record.h - what the helper says on the private socket, parsed.
 *
 * The words and keys are those of iohelper/status.h.  Nothing that arrives is
 * trusted to have the type that it should have.
 */
#ifndef IOW_RECORD_H
#define IOW_RECORD_H

#include "libwrap/iow-private.h"

typedef struct
{
  enum ioh_outcome outcome;
  gboolean save;
  guint64 bytes;
  guint64 pipe_size;  /* 0: no pipe, or not said */
  char *evidence;     /* nullable, as are the following */
  char *cache;
  char *message;      /* the first cause, in the helper's words */
  char *json;         /* the whole record, one object */
  IowEnd error_end;
  int error_errno;    /* 0: not an errno */
  gint64 error_offset; /* -1: not at an offset */
} IowRecord;

typedef enum
{
  IOW_EVENT_OTHER, /* one of a later helper; to be ignored */
  IOW_EVENT_READY,
  IOW_EVENT_EOF,
  IOW_EVENT_RESULT,
} IowEventKind;

typedef struct
{
  IowEventKind kind;
  guint64 bytes;     /* EOF */
  IowRecord *record; /* RESULT */
} IowEvent;

/* One line without its newline.  FALSE: not a line of this protocol. */
gboolean iow_event_parse (const char *line, gsize len, IowEvent *ret_event, GError **error);

/* NULL is fine. */
void iow_record_free (IowRecord *record);

/* The error that the record stands for, NULL if it is a success. (transfer full) */
GError *iow_record_to_error (const IowRecord *record);

#endif
