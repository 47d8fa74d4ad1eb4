/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * help.c - --help and --version, on stdout.
 */
#include <config.h>

#include "iohelper/options.h"
#include "iohelper/status.h"

#include <stdio.h>
#include <string.h>

static void
print_options (unsigned form)
{
  printf ("\nOptions:\n");
  for (size_t i = 0; i < ioh_n_options; i++)
    {
      const struct ioh_option *o = &ioh_options[i];
      char left[40];

      if (!(o->forms & form))
        continue;
      snprintf (left, sizeof left, "--%s%s%s", o->name, o->metavar ? "=" : "",
                o->metavar ? o->metavar : "");
      printf ("  %-24s %s\n", left, o->help);
    }
  printf ("  %-24s %s\n\nSizes are bytes, or K, M, G, T (1K = 1024).\n", "--help",
          "show this help");
}

static void
print_statuses (void)
{
  printf ("\nExit status:\n");
#define X(name, word, status, code, meaning) printf ("  %d  %-16s %s\n", status, word, meaning);
  IOH_OUTCOMES (X)
#undef X
}

void
ioh_print_help (const char *form)
{
  if (!form)
    {
      printf ("Usage: iohelper save [OPTIONS] FILE [-- COMMAND...]\n"
              "       iohelper restore [OPTIONS] FILE [-- COMMAND...]\n"
              "       iohelper /FILENAME FD\n"
              "\n"
              "Moves a virtual machine's state between a pipe and storage.\n"
              "\n"
              "  save      stdin, or what COMMAND writes, to FILE\n"
              "  restore   FILE to stdout, or to COMMAND\n"
              "  FD        as libvirt calls its libvirt_iohelper\n"
              "\n"
              "See 'iohelper save --help', 'iohelper restore --help' and iohelper(1).\n");
      print_statuses ();
      return;
    }
  if (strcmp (form, "save") == 0)
    {
      printf ("Usage: iohelper save [OPTIONS] FILE [-- COMMAND...]\n"
              "\n"
              "Saves the stream on stdin, or on COMMAND's stdout, to FILE.  A regular file is\n"
              "replaced only when the stream is whole and on disk.  FILE '-' is stdout.\n");
      print_options (IOH_FORM_SAVE);
      print_statuses ();
    }
  else if (strcmp (form, "restore") == 0)
    {
      printf ("Usage: iohelper restore [OPTIONS] FILE [-- COMMAND...]\n"
              "\n"
              "Writes FILE to stdout, or to COMMAND's stdin.  FILE '-' is stdin.\n");
      print_options (IOH_FORM_RESTORE);
      print_statuses ();
    }
  else
    printf ("Usage: %s FILENAME FD\n"
            "\n"
            "Copies stdin to descriptor FD when FD is open for writing, and FD to stdout when\n"
            "it is open for reading.  FILENAME is only a name for messages.  Exit status 0 or 1.\n",
            form);
}

void
ioh_print_version (void)
{
  printf ("%s %s\nfeatures: engine-copy %s\n", PACKAGE_NAME, PACKAGE_VERSION, IOH_FEATURES);
}
