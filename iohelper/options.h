/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * options.h - the command line: one table feeds parser, help, completion and
 * the test that holds the manual against them.
 */
#ifndef IOH_OPTIONS_H
#define IOH_OPTIONS_H

#include "iohelper/job.h"

#include <stddef.h>

/* The forms an option belongs to. */
#define IOH_FORM_SAVE 1u
#define IOH_FORM_RESTORE 2u
#define IOH_FORM_CONF 4u /* libvirt.conf */
#define IOH_FORM_BOTH (IOH_FORM_SAVE | IOH_FORM_RESTORE)

enum ioh_option_kind
{
  IOH_OPT_FLAG,   /* bool */
  IOH_OPT_WORD,   /* int, index into words */
  IOH_OPT_SIZE,   /* uint64_t bytes, K M G T */
  IOH_OPT_OCTAL,  /* uint64_t */
  IOH_OPT_FD,     /* int */
  IOH_OPT_TEXT    /* const char * */
};

struct ioh_option
{
  const char *name;
  const char *metavar;       /* NULL for flags */
  unsigned forms;
  enum ioh_option_kind kind;
  size_t member;             /* offsetof in struct ioh_job */
  const char *const *words;  /* IOH_OPT_WORD: NULL-ended, in the enum's order */
  uint64_t min, max;         /* IOH_OPT_SIZE, IOH_OPT_OCTAL */
  const char *help;
};

extern const struct ioh_option ioh_options[];
extern const size_t ioh_n_options;

#define IOH_OPTION_ERROR_MAX 512

/* Writes one clear line to ERROR, an array of IOH_OPTION_ERROR_MAX; false. */
#define IOH_REFUSE(error, ...) (snprintf (error, IOH_OPTION_ERROR_MAX, __VA_ARGS__), false)

/* The option NAME of FORM, or NULL with one clear line in ERROR. */
const struct ioh_option *ioh_option_find (const char *name, size_t len, unsigned form,
                                          char error[IOH_OPTION_ERROR_MAX]);

/* Sets OPTION to VALUE (NULL for a flag).  False with one clear line in ERROR. */
bool ioh_option_set (struct ioh_job *job, const struct ioh_option *option, const char *value,
                     char error[IOH_OPTION_ERROR_MAX]);

enum ioh_parsed { IOH_PARSED_JOB, IOH_PARSED_DONE, IOH_PARSED_ERROR };

/* Parses argv into JOB.  DONE: --help or --version was answered on stdout.
 * ERROR: one clear line, without the program's name, is in ERROR; JOB->mode
 * says whose form it was. */
enum ioh_parsed ioh_parse (int argc, char **argv, struct ioh_job *job,
                           char error[IOH_OPTION_ERROR_MAX]);

/* libvirt-argv.c: true when argv is one of libvirt's forms. */
bool ioh_is_libvirt_argv (int argc, char **argv);
enum ioh_parsed ioh_parse_libvirt (int argc, char **argv, struct ioh_job *job,
                                   char error[IOH_OPTION_ERROR_MAX]);

/* conf.c: libvirt.conf, for libvirt's forms; a faulty file is one line in the
 * system log and changes nothing else. */
void ioh_read_conf (struct ioh_job *job);

/* help.c: on stdout. */
void ioh_print_help (const char *form);
void ioh_print_version (void);

/* parse-number.c.  False: not a number of that kind, or out of range. */
bool ioh_parse_size (const char *text, uint64_t *bytes);
bool ioh_parse_integer (const char *text, int64_t *value);

#endif
