/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * main.c - argv to a job, the job to a relay, its outcome to an exit status.
 */
#include <config.h>

#include "iohelper/control.h"
#include "iohelper/controller.h"
#include "iohelper/launch.h"
#include "iohelper/options.h"
#include "iohelper/result.h"

#include <signal.h>
#include <stdio.h>

/* Help that could not be written was not given. */
static int
finish_stdout (void)
{
  return fflush (stdout) == 0 && !ferror (stdout) ? 0 : 1;
}

/* A shell sees 128 + n, a manager sees the signal, as if we had had no handler. */
static void
die_of (int number)
{
  struct sigaction act = { .sa_handler = SIG_DFL };

  sigaction (number, &act, NULL);
  raise (number);
}

int
main (int argc, char **argv)
{
  char error[IOH_OPTION_ERROR_MAX] = "";
  struct ioh_job job;
  int status, signal = 0;

  ioh_launch_guard_standard_fds ();
  ioh_launch_settings ();
  switch (ioh_parse (argc, argv, &job, error))
    {
    case IOH_PARSED_DONE:
      return finish_stdout ();
    case IOH_PARSED_ERROR:
      return ioh_controller_refuse (&job, error);
    case IOH_PARSED_JOB:
      break;
    }
  if (!ioh_result_prepare (&job, error, sizeof error))
    return ioh_controller_refuse (&job, error);
  status = ioh_control_run (&job, &signal);
  if (signal)
    die_of (signal);
  return status;
}
