/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * failure.c - builds the one line that explains a failure.
 */
#include <config.h>

#include "iohelper/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *
ioh_errno_name (int err)
{
  static _Thread_local char number[32];

#ifdef HAVE_STRERRORNAME_NP
  const char *name = strerrorname_np (err);
  if (name)
    return name;
#endif
  snprintf (number, sizeof number, "errno %d", err);
  return number;
}

/* A name may hold them, a line may not. */
static char
printable (char c)
{
  return (unsigned char) c < 0x20 || c == 0x7f ? '?' : c;
}

const char *
ioh_quote (char *buf, unsigned long size, const char *name)
{
  unsigned long n = 0;

  buf[n++] = '\'';
  for (; *name && n + 2 < size; name++)
    buf[n++] = printable (*name);
  buf[n++] = '\'';
  buf[n] = '\0';
  return buf;
}

/* Space errors have an outcome of their own, wherever they turn up. */
static enum ioh_outcome
outcome_of (enum ioh_end end, int err)
{
  if (end == IOH_END_DESTINATION && (err == ENOSPC || err == EDQUOT))
    return IOH_NO_SPACE;
  if (err == ECANCELED)
    return IOH_CANCELLED;
  return IOH_FAILED;
}

/* Errnos of open(2) and its like that say something about the request, not
 * about the health of the storage. */
static bool
is_request_error (int err)
{
  switch (err)
    {
    case EACCES:
    case EPERM:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EROFS:
    case ENXIO:
    case ENODEV:
    case EBUSY:
    case EINVAL:
    case EBADF:
    case ETXTBSY:
    case EFBIG:
    case ECONNREFUSED:
    case EPROTOTYPE:
    case EOPNOTSUPP:
      return true;
    default:
      return false;
    }
}

static void
set (struct ioh_failure *f, enum ioh_outcome outcome, enum ioh_end end, const char *operation,
     const char *object, uint64_t offset, int err, const char *hint)
{
  char quoted[512], at[40] = "";

  if (f->set)
    return;
  f->set = true;
  f->outcome = outcome;
  f->end = end;
  f->err = err;
  f->offset = offset;
  snprintf (f->operation, sizeof f->operation, "%s", operation);
  snprintf (f->text, sizeof f->text, "%s", strerror (err));
  if (offset != IOH_NO_OFFSET)
    snprintf (at, sizeof at, " at offset %llu", (unsigned long long) offset);
  snprintf (f->message, sizeof f->message, "%s %s%s: %s%s%s", operation,
            ioh_quote (quoted, sizeof quoted, object), at, f->text, hint ? "; " : "",
            hint ? hint : "");
}

void
ioh_failure_errno (struct ioh_failure *f, enum ioh_end end, const char *operation,
                   const char *object, uint64_t offset, int err, const char *hint)
{
  set (f, outcome_of (end, err), end, operation, object, offset, err, hint);
}

void
ioh_failure_opening (struct ioh_failure *f, enum ioh_end end, const char *operation,
                     const char *object, int err, const char *hint)
{
  set (f, is_request_error (err) ? IOH_USAGE : outcome_of (end, err), end, operation, object,
       IOH_NO_OFFSET, err, hint);
}

void
ioh_failure_text (struct ioh_failure *f, enum ioh_outcome outcome, enum ioh_end end,
                  const char *operation, uint64_t offset, const char *format, ...)
{
  va_list ap;

  if (f->set)
    return;
  f->set = true;
  f->outcome = outcome;
  f->end = end;
  f->err = 0;
  f->offset = offset;
  snprintf (f->operation, sizeof f->operation, "%s", operation);
  va_start (ap, format);
  vsnprintf (f->message, sizeof f->message, format, ap);
  va_end (ap);
  for (char *p = f->message; *p; p++)
    *p = printable (*p);
  snprintf (f->text, sizeof f->text, "%.*s", (int) sizeof f->text - 1, f->message);
}
