/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * parse.c - argv to a job: the operator's forms, and what their options may
 * not be together.
 */
#include <config.h>

#include "iohelper/options.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One word beginning with "--" at argv[*I]; takes the next one for its value
 * where none follows '='. */
static bool
take_option (int argc, char **argv, int *i, unsigned form, struct ioh_job *job, char *error)
{
  const char *name = argv[*i] + 2, *equals = strchr (name, '=');
  size_t len = equals ? (size_t) (equals - name) : strlen (name);
  const struct ioh_option *o = ioh_option_find (name, len, form, error);
  const char *value = equals ? equals + 1 : NULL;

  if (!o)
    return false;
  if (o->kind == IOH_OPT_FLAG && value)
    return IOH_REFUSE (error, "option '--%s' takes no value", o->name);
  if (o->kind != IOH_OPT_FLAG && !value)
    {
      if (*i + 1 >= argc)
        return IOH_REFUSE (error, "option '--%s' needs a value", o->name);
      value = argv[++*i];
    }
  return ioh_option_set (job, o, value, error);
}

/* OPTIONS [--] FILE [OPTIONS] [-- COMMAND...] */
static bool
take_arguments (int argc, char **argv, unsigned form, struct ioh_job *job, char *error)
{
  bool options_over = false;

  for (int i = 2; i < argc; i++)
    {
      const char *word = argv[i];

      if (strcmp (word, "--") == 0 && job->file)
        {
          if (i + 1 >= argc)
            return IOH_REFUSE (error, "'--' after FILE needs a command");
          job->command = argv + i + 1;
          return true;
        }
      if (strcmp (word, "--") == 0 && !options_over)
        options_over = true;
      else if (!options_over && strncmp (word, "--", 2) == 0)
        {
          if (!take_option (argc, argv, &i, form, job, error))
            return false;
        }
      else if (!options_over && word[0] == '-' && word[1] != '\0')
        return IOH_REFUSE (error, "unknown option '%s'; a file of that name is './%s'", word, word);
      else if (job->file)
        return IOH_REFUSE (error, "one FILE only, and there is a second: '%s'", word);
      else
        job->file = word;
    }
  if (!job->file)
    return IOH_REFUSE (error, "FILE is missing; see 'iohelper %s --help'", argv[1]);
  if (*job->file == '\0')
    return IOH_REFUSE (error, "FILE is an empty name");
  return true;
}

/* ---- what does not go together ------------------------------------------------------- */

/* Two numbers of one open file, where what goes to one would be found by the
 * reader of the other. */
static bool
same_open_file (int a, int b)
{
  struct stat st;

  if (a == b)
    return true;
  if (b < 0 || fstat (a, &st) < 0 || S_ISCHR (st.st_mode))
    return false;
  return syscall (SYS_kcmp, getpid (), getpid (), KCMP_FILE, a, b) == 0;
}

static bool
is_data_fd (const struct ioh_job *job, int fd)
{
  bool save = job->direction == IOH_SAVE;
  bool passes = strcmp (job->file, "-") == 0 && job->file_fd < 0;
  int stream = save ? STDIN_FILENO : STDOUT_FILENO, other = save ? STDOUT_FILENO : STDIN_FILENO;

  /* With a command its pipe takes the stream's number. */
  return same_open_file (fd, job->file_fd) || fd == stream
         || (!job->command && same_open_file (fd, stream))
         || (passes && same_open_file (fd, other));
}

/* For ACCESS: O_RDONLY, O_WRONLY or O_RDWR. */
static bool
check_open (const char *name, int fd, int access, char *error)
{
  int flags = fcntl (fd, F_GETFL), have = flags & O_ACCMODE;

  if (flags < 0 || (flags & O_PATH))
    return IOH_REFUSE (error, "--%s=%d: the descriptor is not open", name, fd);
  if (have != access && have != O_RDWR)
    return IOH_REFUSE (error, "--%s=%d: the descriptor is not open for %s", name, fd,
                       have == O_RDONLY ? "writing" : "reading");
  return true;
}

static bool
check_side_fd (const struct ioh_job *job, const char *name, int fd, int access, char *error)
{
  if (fd < 0)
    return true;
  if (!check_open (name, fd, access, error))
    return false;
  if (is_data_fd (job, fd))
    return IOH_REFUSE (error, "--%s=%d: the data go through that descriptor; use another", name, fd);
  return true;
}

static bool
check_manager (const struct ioh_job *job, char *error)
{
  int type = 0;
  socklen_t size = sizeof type;

  if (job->manager_fd < 0)
    return true;
  if (!check_side_fd (job, "manager-fd", job->manager_fd, O_RDWR, error))
    return false;
  if (getsockopt (job->manager_fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM)
    return IOH_REFUSE (error, "--manager-fd=%d: the descriptor is no stream socket",
                       job->manager_fd);
  if (job->command || job->commit_fd >= 0)
    return IOH_REFUSE (error, "--manager-fd goes with neither --commit-fd nor a command");
  return true;
}

static bool
check_handed (const struct ioh_job *job, char *error)
{
  const char *useless = job->in_place                    ? "in-place"
                        : job->no_clobber                ? "no-clobber"
                        : job->no_follow                 ? "no-follow"
                        : job->permissions != IOH_UNSET ? "mode"
                                                         : NULL;

  if (!ioh_job_handed (job) || !useless)
    return true;
  return IOH_REFUSE (error, "--%s has no meaning for a descriptor that is open already", useless);
}

static bool
check_job (const struct ioh_job *job, char *error)
{
  bool save = job->direction == IOH_SAVE;
  int stream = save ? STDIN_FILENO : STDOUT_FILENO;

  if (job->file_fd == stream)
    return IOH_REFUSE (error, "--fd=%d: that is the stream itself; use another", stream);
  if (job->file_fd >= 0 && !check_open ("fd", job->file_fd, save ? O_WRONLY : O_RDONLY, error))
    return false;
  if (!check_side_fd (job, "result-fd", job->result_fd, O_WRONLY, error)
      || !check_side_fd (job, "commit-fd", job->commit_fd, O_RDONLY, error)
      || !check_manager (job, error) || !check_handed (job, error))
    return false;
  if (job->expect_length != IOH_UNSET && job->expect_length > job->length)
    return IOH_REFUSE (error, "--expect-length is more than --length lets through");
  return true;
}

static enum ioh_parsed
parse_form (int argc, char **argv, unsigned form, struct ioh_job *job, char *error)
{
  for (int i = 2; i < argc && strcmp (argv[i], "--") != 0; i++)
    if (strcmp (argv[i], "--help") == 0)
      {
        ioh_print_help (argv[1]);
        return IOH_PARSED_DONE;
      }
  job->direction = form == IOH_FORM_SAVE ? IOH_SAVE : IOH_RESTORE;
  if (!take_arguments (argc, argv, form, job, error))
    return IOH_PARSED_ERROR;
  if (job->manager_fd >= 0)
    job->mode = IOH_MODE_LIBRARY;
  if (!check_job (job, error))
    return IOH_PARSED_ERROR;
  /* `2>&1 |`: a line of ours would be part of the stream. */
  job->quiet |= is_data_fd (job, STDERR_FILENO);
  return IOH_PARSED_JOB;
}

static bool
refuse_verb (const char *verb, char *error)
{
  if (!verb)
    return IOH_REFUSE (error, "say 'save FILE' or 'restore FILE'; see 'iohelper --help'");
  if (verb[0] == '-')
    return IOH_REFUSE (error, "unknown option '%.200s'; options come after 'save' or 'restore'",
                       verb);
  return IOH_REFUSE (error, "'save' or 'restore' is missing before '%.200s'", verb);
}

enum ioh_parsed
ioh_parse (int argc, char **argv, struct ioh_job *job, char error[IOH_OPTION_ERROR_MAX])
{
  const char *verb = argc > 1 ? argv[1] : NULL;

  ioh_job_init (job);
  if (ioh_is_libvirt_argv (argc, argv))
    {
      job->mode = IOH_MODE_LIBVIRT;
      return ioh_parse_libvirt (argc, argv, job, error);
    }
  if (verb && strcmp (verb, "save") == 0)
    return parse_form (argc, argv, IOH_FORM_SAVE, job, error);
  if (verb && strcmp (verb, "restore") == 0)
    return parse_form (argc, argv, IOH_FORM_RESTORE, job, error);
  if (verb && strcmp (verb, "--help") == 0)
    {
      ioh_print_help (NULL);
      return IOH_PARSED_DONE;
    }
  if (verb && strcmp (verb, "--version") == 0)
    {
      ioh_print_version ();
      return IOH_PARSED_DONE;
    }
  refuse_verb (verb, error);
  return IOH_PARSED_ERROR;
}
