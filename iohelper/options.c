/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * options.c - the table of options and the parser that it feeds.
 */
#include <config.h>

#include "iohelper/options.h"

#include "iohelper/tunables.h"

#include <stdio.h>
#include <string.h>

static const char *const cache_words[] = { "auto", "direct", "drop", "keep", NULL };
static const char *const sync_words[] = { "none", "data", "full", NULL };
static const char *const engine_words[] = { "auto", "uring", "splice", "copy", NULL };
static const char *const require_words[] = { "auto", "none", "qemu", "libvirt", "elf", NULL };

#define AT(member) offsetof (struct ioh_job, member)
#define SIZES 0, INT64_MAX

const struct ioh_option ioh_options[] = {
  { "cache", "MODE", IOH_FORM_BOTH | IOH_FORM_CONF, IOH_OPT_WORD, AT (cache), cache_words, 0, 0,
    "page cache of FILE: auto, direct (or fail), drop, keep" },
  { "sync", "MODE", IOH_FORM_SAVE, IOH_OPT_WORD, AT (sync), sync_words, 0, 0,
    "before success: full, data, none; default: full, or data in place" },
  { "engine", "NAME", IOH_FORM_BOTH | IOH_FORM_CONF, IOH_OPT_WORD, AT (engine), engine_words, 0,
    0, "what moves the bytes: auto, uring, splice, copy" },
  { "buffer-size", "SIZE", IOH_FORM_BOTH, IOH_OPT_SIZE, AT (buffer_size), NULL, IOH_BUFFER_MIN,
    IOH_BUFFER_MAX, "bytes moved at a time (4K to 64M)" },
  { "memory", "SIZE", IOH_FORM_BOTH | IOH_FORM_CONF, IOH_OPT_SIZE, AT (memory), NULL,
    IOH_BUFFER_MIN, INT64_MAX, "use at most SIZE for buffers" },
  { "offset", "SIZE", IOH_FORM_BOTH, IOH_OPT_SIZE, AT (offset), NULL, SIZES,
    "start at byte SIZE of FILE; a save to a regular file needs --in-place" },
  { "length", "SIZE", IOH_FORM_BOTH, IOH_OPT_SIZE, AT (length), NULL, SIZES,
    "move at most SIZE; a save whose stream goes on is refused" },
  { "expect-length", "SIZE", IOH_FORM_BOTH, IOH_OPT_SIZE, AT (expect_length), NULL, SIZES,
    "require exactly SIZE" },
  { "size", "SIZE", IOH_FORM_SAVE, IOH_OPT_SIZE, AT (size), NULL, SIZES,
    "hint: about SIZE will come; refused if a device has no room for it" },
  { "require", "FORMAT", IOH_FORM_SAVE, IOH_OPT_WORD, AT (require), require_words, 0, 0,
    "how a whole stream ends: auto, none, qemu, libvirt, elf" },
  { "mode", "OCTAL", IOH_FORM_SAVE, IOH_OPT_OCTAL, AT (permissions), NULL, 0, 07777,
    "permissions of FILE; default: those of the file replaced, else 600" },
  { "in-place", NULL, IOH_FORM_SAVE, IOH_OPT_FLAG, AT (in_place), NULL, 0, 0,
    "write to FILE itself, do not replace it when all is well" },
  { "no-clobber", NULL, IOH_FORM_SAVE, IOH_OPT_FLAG, AT (no_clobber), NULL, 0, 0,
    "never replace an existing file" },
  { "no-follow", NULL, IOH_FORM_BOTH, IOH_OPT_FLAG, AT (no_follow), NULL, 0, 0,
    "refuse FILE if it is a symbolic link" },
  { "allow-tty", NULL, IOH_FORM_BOTH, IOH_OPT_FLAG, AT (allow_tty), NULL, 0, 0,
    "let the stream be a terminal" },
  { "fd", "N", IOH_FORM_BOTH, IOH_OPT_FD, AT (file_fd), NULL, 0, 0,
    "use open descriptor N; FILE is then only its name in messages" },
  { "commit-fd", "N", IOH_FORM_SAVE, IOH_OPT_FD, AT (commit_fd), NULL, 0, 0,
    "commit only after one byte came on descriptor N" },
  { "manager-fd", "N", IOH_FORM_BOTH, IOH_OPT_FD, AT (manager_fd), NULL, 0, 0,
    "talk to a managing program over socket N (libiowrap's protocol)" },
  { "result", "FILE", IOH_FORM_BOTH, IOH_OPT_TEXT, AT (result), NULL, 0, 0,
    "write the record (JSON) to FILE at the end; removed at the start" },
  { "result-fd", "N", IOH_FORM_BOTH, IOH_OPT_FD, AT (result_fd), NULL, 0, 0,
    "write the record (JSON) to descriptor N" },
  { "result-dir", "DIR", IOH_FORM_CONF, IOH_OPT_TEXT, AT (result_dir), NULL, 0, 0,
    "write the record of each relay to DIR" },
  { "quiet", NULL, IOH_FORM_BOTH, IOH_OPT_FLAG, AT (quiet), NULL, 0, 0, "nothing on stderr" },
  { "verbose", NULL, IOH_FORM_BOTH, IOH_OPT_FLAG, AT (verbose), NULL, 0, 0,
    "say on stderr what was done and how" },
};

const size_t ioh_n_options = sizeof ioh_options / sizeof ioh_options[0];

void
ioh_job_init (struct ioh_job *job)
{
  *job = (struct ioh_job) {
    .sync = IOH_SYNC_DEFAULT,
    .file_fd = -1,
    .commit_fd = -1,
    .manager_fd = -1,
    .result_fd = -1,
    .offset = IOH_UNSET,
    .length = IOH_UNSET,
    .expect_length = IOH_UNSET,
    .size = IOH_UNSET,
    .permissions = IOH_UNSET,
  };
}

static const char *
form_name (unsigned form)
{
  return form == IOH_FORM_SAVE ? "save" : form == IOH_FORM_RESTORE ? "restore" : "libvirt.conf";
}

const struct ioh_option *
ioh_option_find (const char *name, size_t len, unsigned form, char error[IOH_OPTION_ERROR_MAX])
{
  for (size_t i = 0; i < ioh_n_options; i++)
    if (strlen (ioh_options[i].name) == len && memcmp (ioh_options[i].name, name, len) == 0)
      {
        if (ioh_options[i].forms & form)
          return &ioh_options[i];
        snprintf (error, IOH_OPTION_ERROR_MAX, "option '--%s' does not belong to %s",
                  ioh_options[i].name, form_name (form));
        return NULL;
      }
  snprintf (error, IOH_OPTION_ERROR_MAX, "unknown option '--%.*s'; see 'iohelper %s --help'",
            (int) len, name, form_name (form));
  return NULL;
}

/* ---- values ----------------------------------------------------------------------- */

static bool
bad_value (const struct ioh_option *o, const char *value, const char *wanted,
           char error[IOH_OPTION_ERROR_MAX])
{
  snprintf (error, IOH_OPTION_ERROR_MAX, "--%s=%.200s: %s", o->name, value, wanted);
  return false;
}

static bool
set_word (int *member, const struct ioh_option *o, const char *value,
          char error[IOH_OPTION_ERROR_MAX])
{
  char wanted[128] = "give one of";

  for (int i = 0; o->words[i]; i++)
    {
      if (strcmp (o->words[i], value) == 0)
        {
          *member = i;
          return true;
        }
      snprintf (wanted + strlen (wanted), sizeof wanted - strlen (wanted), "%s %s", i ? "," : "",
                o->words[i]);
    }
  return bad_value (o, value, wanted, error);
}

static bool
set_size (uint64_t *member, const struct ioh_option *o, const char *value,
          char error[IOH_OPTION_ERROR_MAX])
{
  char wanted[160];
  uint64_t bytes;

  if (!ioh_parse_size (value, &bytes))
    return bad_value (o, value, "give a number of bytes, or of K, M, G or T (1K = 1024)", error);
  if (bytes < o->min || bytes > o->max)
    {
      snprintf (wanted, sizeof wanted, "give %llu to %llu bytes", (unsigned long long) o->min,
                (unsigned long long) o->max);
      return bad_value (o, value, wanted, error);
    }
  *member = bytes;
  return true;
}

static bool
set_octal (uint64_t *member, const struct ioh_option *o, const char *value,
           char error[IOH_OPTION_ERROR_MAX])
{
  uint64_t bits = 0;
  const char *p = value;

  for (; *p >= '0' && *p <= '7' && bits <= o->max; p++)
    bits = bits * 8 + (uint64_t) (*p - '0');
  if (p == value || *p != '\0' || bits > o->max)
    return bad_value (o, value, "give an octal mode such as 600 or 0640", error);
  *member = bits;
  return true;
}

static bool
set_fd (int *member, const struct ioh_option *o, const char *value,
        char error[IOH_OPTION_ERROR_MAX])
{
  int64_t n;

  if (!ioh_parse_integer (value, &n) || n < 0 || n > INT32_MAX)
    return bad_value (o, value, "give the number of an open descriptor", error);
  *member = (int) n;
  return true;
}

bool
ioh_option_set (struct ioh_job *job, const struct ioh_option *o, const char *value,
                char error[IOH_OPTION_ERROR_MAX])
{
  void *member = (char *) job + o->member;

  switch (o->kind)
    {
    case IOH_OPT_FLAG:
      *(bool *) member = true;
      return true;
    case IOH_OPT_WORD:
      return set_word (member, o, value, error);
    case IOH_OPT_SIZE:
      return set_size (member, o, value, error);
    case IOH_OPT_OCTAL:
      return set_octal (member, o, value, error);
    case IOH_OPT_FD:
      return set_fd (member, o, value, error);
    case IOH_OPT_TEXT:
      if (*value == '\0')
        return bad_value (o, value, "give a name", error);
      *(const char **) member = value;
      return true;
    }
  return false;
}
