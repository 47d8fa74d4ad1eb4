/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * u-parse.c - sizes, the option table, and which form an argv is.
 */
#include <config.h>

#include "iohelper/options.h"
#include "tests/tap.h"

#include <string.h>

static void
check_sizes (void)
{
  static const struct { const char *text; bool good; uint64_t bytes; } rows[] = {
    { "0", true, 0 },
    { "1", true, 1 },
    { "4096", true, 4096 },
    { "64K", true, 65536 },
    { "64KiB", true, 65536 },
    { "3M", true, 3145728 },
    { "2G", true, UINT64_C (2147483648) },
    { "1T", true, UINT64_C (1099511627776) },
    { "8388607T", true, UINT64_C (8388607) << 40 },
    { "9223372036854775807", true, INT64_MAX },
    { "9223372036854775808", false, 0 },
    { "8388608T", false, 0 },
    { "99999999999999999999", false, 0 },
    { "64KB", false, 0 },
    { "64k", false, 0 },
    { "64Ki", false, 0 },
    { "64KiBs", false, 0 },
    { "-1", false, 0 },
    { "+1", false, 0 },
    { " 1", false, 0 },
    { "1 K", false, 0 },
    { "1.5G", false, 0 },
    { "0x10", false, 0 },
    { "", false, 0 },
    { "K", false, 0 },
  };

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    {
      uint64_t bytes = 0;
      bool good = ioh_parse_size (rows[i].text, &bytes);
      ok (good == rows[i].good && (!good || bytes == rows[i].bytes),
          "size '%s' is %s", rows[i].text, rows[i].good ? "taken for what it says" : "refused");
    }
}

static enum ioh_parsed
parse (struct ioh_job *job, char error[IOH_OPTION_ERROR_MAX], int argc, const char *const *words)
{
  static char copies[16][64], *argv[17];

  for (int i = 0; i < argc; i++)
    argv[i] = strcpy (copies[i], words[i]);
  argv[argc] = NULL;
  *error = '\0';
  return ioh_parse (argc, argv, job, error);
}

#define PARSE(job, error, ...)                                                                    \
  parse (job, error, (int) (sizeof ((const char *[]) { __VA_ARGS__ }) / sizeof (char *)),         \
         (const char *[]) { __VA_ARGS__ })

static void
check_operator_forms (void)
{
  char error[IOH_OPTION_ERROR_MAX];
  struct ioh_job job;

  ok (PARSE (&job, error, "iohelper", "save", "f") == IOH_PARSED_JOB
        && job.direction == IOH_SAVE && strcmp (job.file, "f") == 0
        && job.mode == IOH_MODE_OPERATOR && job.sync == IOH_SYNC_DEFAULT,
      "save FILE is a save with every option unset");
  ok (PARSE (&job, error, "iohelper", "restore", "--cache=keep", "f", "--length", "4K")
          == IOH_PARSED_JOB
        && job.direction == IOH_RESTORE && job.cache == IOH_CACHE_KEEP && job.length == 4096,
      "options stand before and after FILE, with = or as two words");
  ok (PARSE (&job, error, "iohelper", "save", "--", "--cache") == IOH_PARSED_JOB
        && strcmp (job.file, "--cache") == 0,
      "-- ends the options, so that FILE may look like one");
  ok (PARSE (&job, error, "iohelper", "save", "f", "--", "cat", "--cache") == IOH_PARSED_JOB
        && job.command && strcmp (job.command[0], "cat") == 0
        && strcmp (job.command[1], "--cache") == 0 && !job.command[2],
      "-- after FILE begins a command, whose words are its own");
  ok (PARSE (&job, error, "iohelper", "save", "--sync=none", "-") == IOH_PARSED_JOB
        && ioh_job_handed (&job) && job.sync == IOH_SYNC_NONE,
      "FILE - is a descriptor handed over");
  ok (PARSE (&job, error, "iohelper", "save", "./-") == IOH_PARSED_JOB && !ioh_job_handed (&job),
      "FILE ./- is a file of that name");
}

static void
check_refusals (void)
{
  static const struct { const char *what, *words[6]; } rows[] = {
    { "an abbreviated option", { "save", "--cach=auto", "f" } },
    { "an option of the other form", { "restore", "--sync=none", "f" } },
    { "an option of libvirt.conf only", { "save", "--result-dir=/", "f" } },
    { "a value for a flag", { "save", "--quiet=1", "f" } },
    { "an option without its value", { "save", "f", "--cache" } },
    { "a word that is no cache mode", { "save", "--cache=fast", "f" } },
    { "a mode that is not octal", { "save", "--mode=698", "f" } },
    { "a mode of too many bits", { "save", "--mode=17777", "f" } },
    { "a buffer of 1 byte", { "save", "--buffer-size=1", "f" } },
    { "a buffer of 1 T", { "save", "--buffer-size=1T", "f" } },
    { "two files", { "save", "f", "g" } },
    { "no file", { "save" } },
    { "an empty file name", { "save", "" } },
    { "a command that is missing", { "save", "f", "--" } },
    { "a descriptor that is not open", { "save", "--result-fd=999", "f" } },
    { "a result on the stream", { "save", "--result-fd=0", "f" } },
    { "--in-place for a descriptor", { "save", "--in-place", "-" } },
    { "a length that can never be met", { "save", "--length=1", "--expect-length=2", "f" } },
    { "the stream as FILE", { "save", "--fd=0", "f" } },
    { "an unknown verb", { "store", "f" } },
    { "a path without a verb", { "/x/vm.sav" } },
    { "a short option", { "save", "-q", "f" } },
    { "no word at all", { NULL } },
  };

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    {
      const char *words[8] = { "iohelper" };
      char error[IOH_OPTION_ERROR_MAX];
      struct ioh_job job;
      int argc = 1;

      while (argc <= 6 && rows[i].words[argc - 1])
        {
          words[argc] = rows[i].words[argc - 1];
          argc++;
        }
      ok (parse (&job, error, argc, words) == IOH_PARSED_ERROR && *error
            && !strchr (error, '\n'),
          "%s is refused in one line", rows[i].what);
    }
}

static bool
is_libvirt (const char *a0, const char *a1, const char *a2, const char *a3)
{
  char *argv[] = { (char *) a0, (char *) a1, (char *) a2, (char *) a3, NULL };
  int argc = 0;

  while (argv[argc])
    argc++;
  return ioh_is_libvirt_argv (argc, argv);
}

static void
check_libvirt_forms (void)
{
  ok (is_libvirt ("iohelper", "/x", "1", NULL), "an absolute name and a number are libvirt's form");
  ok (is_libvirt ("iohelper", "/x", "0", "1"), "so are an absolute name and two numbers");
  ok (!is_libvirt ("iohelper", "x", "1", NULL), "a relative name is not");
  ok (!is_libvirt ("iohelper", "/x", "one", NULL), "a word in place of the number is not");
  ok (!is_libvirt ("iohelper", "/x", NULL, NULL), "a name alone is not");
  ok (is_libvirt ("/usr/lib/libvirt_iohelper", "save", NULL, NULL),
      "everything is libvirt's form under libvirt's name");
  ok (!is_libvirt ("/usr/lib/libvirt_iohelper2", "save", NULL, NULL),
      "a name that only begins so is another");
}

int
main (void)
{
  check_sizes ();
  check_operator_forms ();
  check_refusals ();
  check_libvirt_forms ();
  return done_testing ();
}
