/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * result-file.c - where the record goes: a file that is replaced whole, a
 * descriptor, a directory of records.
 *
 * Invariant: --result names no file, or the whole record of this run.
 */
#include <config.h>

#include "iohelper/result.h"

#include "iohelper/io.h"
#include "iohelper/log.h"
#include "iohelper/path.h"
#include "iohelper/tempfile.h"
#include "iohelper/tunables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Both names lead to one file, whether it exists or not: the record would
 * replace the image. */
static bool
is_file_itself (const struct ioh_path *result, const struct ioh_job *job)
{
  struct ioh_path file;
  const char *operation;
  struct stat a, b;
  bool same;

  if (!job->file || ioh_job_handed (job))
    return false;
  same = ioh_path_resolve (&file, job->file, false, &operation) == 0 && file.dir_fd >= 0
         && strcmp (file.base, result->base) == 0 && fstat (file.dir_fd, &a) == 0
         && fstat (result->dir_fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  ioh_path_close (&file);
  return same;
}

/* What stands there is empty or begins as a record does; anything else was
 * meant for another option. */
static bool
is_record (const struct ioh_path *path)
{
  static const char beginning[] = "{\"" IOH_KEY_VERSION "\":";
  char have[sizeof beginning];
  int fd = ioh_path_reopen (path, O_RDONLY);
  ssize_t n;

  if (fd < 0)
    return false;
  n = ioh_read (fd, have, sizeof beginning - 1, false, 0);
  close (fd);
  return n == 0
         || (n == sizeof beginning - 1 && memcmp (have, beginning, sizeof beginning - 1) == 0);
}

/* Why the file at PATH cannot hold the record, or NULL. */
static const char *
unfit (const struct ioh_path *path, const struct ioh_job *job)
{
  if (path->file_fd >= 0 && !S_ISREG (path->st.st_mode))
    return "it is no regular file; --result-fd=N takes an open descriptor";
  if (is_file_itself (path, job))
    return "that is FILE itself";
  if (path->file_fd >= 0 && !is_record (path))
    return "a file that is no record is there; remove it or give another name";
  if (faccessat (path->dir_fd, ".", W_OK, AT_EACCESS) < 0)
    return strerror (errno);
  ioh_tempfile_sweep (path->dir_fd, path->base);
  if (path->file_fd >= 0 && unlinkat (path->dir_fd, path->base, 0) < 0)
    return strerror (errno);
  return NULL;
}

bool
ioh_result_prepare (const struct ioh_job *job, char *error, size_t size)
{
  struct ioh_path path;
  const char *operation, *why;
  char quoted[512];
  int r;

  if (!job->result)
    return true;
  /* Not through a link: /dev/stderr leads to a file that is not ours to remove. */
  r = ioh_path_resolve (&path, job->result, true, &operation);
  why = r == -ELOOP ? "it is a symbolic link; --result-fd=N takes an open descriptor"
        : r < 0     ? strerror (-r)
                    : unfit (&path, job);
  ioh_path_close (&path);
  if (why)
    snprintf (error, size, "--result=%s: %s", ioh_quote (quoted, sizeof quoted, job->result), why);
  return !why;
}

static int
write_text (int fd, const char *text)
{
  struct ioh_span span = { (const unsigned char *) text, strlen (text), 0 };

  return ioh_write_all (fd, &span, false, 0);
}

static int
replace_file (const char *name, const char *text)
{
  char temp[NAME_MAX + 1] = "";
  struct ioh_path path;
  const char *operation;
  bool synced;
  int fd, r = ioh_path_resolve (&path, name, true, &operation);

  if (r < 0)
    {
      ioh_path_close (&path);
      return r;
    }
  fd = ioh_tempfile_named (path.dir_fd, path.base, temp, sizeof temp, NULL, NULL);
  r = fd < 0 ? fd : write_text (fd, text);
  if (r == 0)
    r = ioh_sync (fd, true, &synced);
  if (fd >= 0)
    {
      int e = ioh_close (fd);
      if (r == 0)
        r = e;
    }
  if (r == 0 && renameat (path.dir_fd, temp, path.dir_fd, path.base) < 0)
    r = -errno;
  if (r < 0 && *temp)
    (void) unlinkat (path.dir_fd, temp, 0);
  ioh_path_close (&path);
  return r;
}

static void
complain (const struct ioh_job *job, const char *where, int r)
{
  char quoted[512];

  ioh_log (job, "writing the record to %s: %s", ioh_quote (quoted, sizeof quoted, where),
           strerror (-r));
}

void
ioh_result_write (const struct ioh_job *job, struct json_object *record)
{
  const char *json = json_object_to_json_string_ext (record, JSON_C_TO_STRING_PLAIN
                                                               | JSON_C_TO_STRING_NOSLASHESCAPE);
  char *text = NULL, name[PATH_MAX];
  int r;

  if (!record || !json || asprintf (&text, "%s\n", json) < 0)
    {
      complain (job, "any place", -ENOMEM);
      return;
    }
  r = job->result_fd < 0                                       ? 0
      : ioh_is_writable (job->result_fd, IOH_LAST_WORDS_MS) ? write_text (job->result_fd, text)
                                                               : -EAGAIN;
  if (r < 0)
    complain (job, "--result-fd", r);
  if (job->result && (r = replace_file (job->result, text)) < 0)
    complain (job, job->result, r);
  if (job->result_dir)
    {
      snprintf (name, sizeof name, "%s/iohelper-%ld.json", job->result_dir, (long) getpid ());
      r = replace_file (name, text);
      if (r < 0)
        complain (job, name, r);
    }
  free (text);
}
