/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-error.c - from outcomes and errnos to IowError.
 *
 * The outcomes' table is iohelper/status.h; nothing is said twice here.
 */
#include <config.h>

#include "libwrap/iow-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Not G_DEFINE_QUARK(), which sets its variable without any order. */
GQuark
iow_error_quark (void)
{
  static gsize quark;

  if (g_once_init_enter (&quark))
    g_once_init_leave (&quark, g_quark_from_static_string ("iow-error-quark"));
  return (GQuark) quark;
}

/* Only so that the table below can be made from status.h, whose column names
 * a code for every outcome. */
#define IOW_ERROR_NONE (-1)

static const struct
{
  const char *word;
  const char *meaning;
  int code;
} outcomes[IOH_N_OUTCOMES] = {
#define X(name, word, status, code, meaning) [IOH_##name] = { word, meaning, IOW_ERROR_##code },
  IOH_OUTCOMES (X)
#undef X
};

int
iow_error_code_of (enum ioh_outcome outcome, IowEnd end)
{
  if (outcome != IOH_FAILED)
    return outcomes[outcome].code;
  switch (end)
    {
    case IOW_END_SOURCE:
      return IOW_ERROR_SOURCE;
    case IOW_END_HELPER:
      return IOW_ERROR_HELPER;
    case IOW_END_NONE:
    case IOW_END_DESTINATION:
    default:
      return outcomes[outcome].code;
    }
}

enum ioh_outcome
iow_outcome_of_word (const char *word)
{
  int i = 0;

  while (i < IOH_N_OUTCOMES && strcmp (outcomes[i].word, word) != 0)
    i++;
  return (enum ioh_outcome) i;
}

const char *
iow_outcome_meaning (enum ioh_outcome outcome)
{
  return outcomes[outcome].meaning;
}

static int
code_of_errno (IowEnd end, int err)
{
  switch (err)
    {
    case EBADF:
    case EINVAL:
      return IOW_ERROR_INVALID;
    case ENOSPC:
    case EDQUOT:
      return end == IOW_END_DESTINATION ? IOW_ERROR_NO_SPACE : IOW_ERROR_SOURCE;
    case EPIPE:
      return end == IOW_END_DESTINATION ? IOW_ERROR_CONSUMER_CLOSED : IOW_ERROR_SOURCE;
    default:
      return iow_error_code_of (IOH_FAILED, end);
    }
}

void
iow_set_errno_error (GError **error, IowEnd end, int err, const char *format, ...)
{
  g_autofree char *doing = NULL;
  va_list ap;

  va_start (ap, format);
  doing = g_strdup_vprintf (format, ap);
  va_end (ap);
  g_set_error (error, IOW_ERROR, code_of_errno (end, err), "%s: %s", doing, g_strerror (err));
}

#ifndef HAVE_STRERRORNAME_NP
static const struct
{
  const char *name;
  int err;
} names[] = {
  { "EPERM", EPERM },   { "ENOENT", ENOENT },   { "EINTR", EINTR },   { "EIO", EIO },
  { "ENXIO", ENXIO },   { "EBADF", EBADF },     { "EAGAIN", EAGAIN }, { "ENOMEM", ENOMEM },
  { "EACCES", EACCES }, { "EBUSY", EBUSY },     { "EEXIST", EEXIST }, { "ENODEV", ENODEV },
  { "ENOTDIR", ENOTDIR }, { "EISDIR", EISDIR }, { "EINVAL", EINVAL }, { "EMFILE", EMFILE },
  { "ENFILE", ENFILE }, { "EFBIG", EFBIG },     { "ENOSPC", ENOSPC }, { "EROFS", EROFS },
  { "EPIPE", EPIPE },   { "ELOOP", ELOOP },     { "EDQUOT", EDQUOT }, { "ESTALE", ESTALE },
  { "ENOTSUP", ENOTSUP }, { "ETIMEDOUT", ETIMEDOUT },
};
#endif

int
iow_errno_of_name (const char *name)
{
  if (!name)
    return 0;
  if (g_str_has_prefix (name, "errno "))
    return atoi (name + strlen ("errno "));
#ifdef HAVE_STRERRORNAME_NP
  /* Linux reserves the numbers up to 4095 for errnos; the C library's names
   * end far below that. */
  for (int err = 1; err < 4096; err++)
    {
      const char *known = strerrorname_np (err);
      if (known && strcmp (known, name) == 0)
        return err;
    }
#else
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (names[i].name, name) == 0)
      return names[i].err;
#endif
  return 0;
}
