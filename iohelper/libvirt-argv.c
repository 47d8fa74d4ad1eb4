/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libvirt-argv.c - the three forms in which libvirt has called its helper.
 *
 *   FILENAME FD                                     since 2017
 *   FILENAME LENGTH FD                              2012
 *   FILENAME OFLAGS MODE OFFSET LENGTH [DELETE]     2011
 *
 * In the first two the direction is the access mode of FD and FILENAME is only
 * a name: it may be on storage that this user cannot open.
 */
#include <config.h>

#include "iohelper/options.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBVIRT_NAME "libvirt_iohelper"

static bool
named_libvirt (const char *argv0)
{
  const char *slash = strrchr (argv0, '/');

  return strcmp (slash ? slash + 1 : argv0, LIBVIRT_NAME) == 0;
}

bool
ioh_is_libvirt_argv (int argc, char **argv)
{
  int64_t value;

  if (argc > 0 && named_libvirt (argv[0]))
    return true;
  if ((argc != 3 && argc != 4 && argc != 6 && argc != 7) || argv[1][0] != '/')
    return false;
  for (int i = 2; i < argc; i++)
    if (!ioh_parse_integer (argv[i], &value))
      return false;
  return true;
}

/* A number of at least 0 and at most MAX. */
static bool
take (const char *what, const char *text, int64_t max, int64_t *value, char *error)
{
  if (!ioh_parse_integer (text, value) || *value < 0 || *value > max)
    return IOH_REFUSE (error, "%s '%.100s' is not a number in its range", what, text);
  return true;
}

/* The direction of a descriptor that can do both (a socket) is its number's:
 * libvirt passes 1 to write and 0 to read. */
static bool
direction_of (int64_t fd, struct ioh_job *job, char *error)
{
  int flags = fcntl ((int) fd, F_GETFL);

  if (flags < 0 || (flags & O_PATH))
    return IOH_REFUSE (error, "FD %d is not open", (int) fd);
  job->file_fd = (int) fd;
  switch (flags & O_ACCMODE)
    {
    case O_WRONLY:
      job->direction = IOH_SAVE;
      break;
    case O_RDONLY:
      job->direction = IOH_RESTORE;
      break;
    default:
      if (fd > 1)
        return IOH_REFUSE (error, "FD %d is open for reading and writing; only 0 and 1 then tell the direction",
                     (int) fd);
      job->direction = fd == 1 ? IOH_SAVE : IOH_RESTORE;
    }
  if (fd == (job->direction == IOH_SAVE ? STDIN_FILENO : STDOUT_FILENO))
    return IOH_REFUSE (error, "FD %d is the stream itself", (int) fd);
  return true;
}

static bool
parse_with_fd (int argc, char **argv, struct ioh_job *job, char *error)
{
  int64_t fd, length = 0;

  if (!take ("FD", argv[argc - 1], INT32_MAX, &fd, error)
      || (argc == 4 && !take ("LENGTH", argv[2], INT64_MAX, &length, error))
      || !direction_of (fd, job, error))
    return false;
  job->length = length ? (uint64_t) length : IOH_UNSET;
  return true;
}

static bool
parse_2011 (int argc, char **argv, struct ioh_job *job, char *error)
{
  int64_t flags, mode, offset, length, remove = 0;

  if (!take ("OFLAGS", argv[2], INT32_MAX, &flags, error)
      || !take ("MODE", argv[3], 07777, &mode, error)
      || !take ("OFFSET", argv[4], INT64_MAX, &offset, error)
      || !take ("LENGTH", argv[5], INT64_MAX, &length, error)
      || (argc == 7 && !take ("DELETE", argv[6], 1, &remove, error)))
    return false;
  if ((flags & O_ACCMODE) != O_RDONLY && (flags & O_ACCMODE) != O_WRONLY)
    return IOH_REFUSE (error, "OFLAGS %d says neither reading nor writing", (int) flags);
  job->direction = (flags & O_ACCMODE) == O_WRONLY ? IOH_SAVE : IOH_RESTORE;
  job->open_2011 = (struct ioh_open_2011) {
    .used = true,
    .flags = (int) flags,
    .mode = (unsigned) mode,
    .delete_after = remove != 0 && job->direction == IOH_RESTORE,
  };
  job->offset = offset ? (uint64_t) offset : IOH_UNSET;
  job->length = length ? (uint64_t) length : IOH_UNSET;
  return true;
}

enum ioh_parsed
ioh_parse_libvirt (int argc, char **argv, struct ioh_job *job, char error[IOH_OPTION_ERROR_MAX])
{
  bool good;

  if (argc == 2 && strcmp (argv[1], "--help") == 0)
    {
      ioh_print_help (LIBVIRT_NAME);
      return IOH_PARSED_DONE;
    }
  if (argc < 2 || *argv[1] == '\0')
    good = IOH_REFUSE (error, "usage: %s FILENAME FD", LIBVIRT_NAME);
  else if (argc == 3 || argc == 4)
    good = parse_with_fd (argc, argv, job, error);
  else if (argc == 6 || argc == 7)
    good = parse_2011 (argc, argv, job, error);
  else
    good = IOH_REFUSE (error, "usage: %s FILENAME FD", LIBVIRT_NAME);
  if (!good)
    return IOH_PARSED_ERROR;
  job->file = argv[1];
  ioh_read_conf (job);
  return IOH_PARSED_JOB;
}
