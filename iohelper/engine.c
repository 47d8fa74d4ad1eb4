/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * engine.c - the table of engines, best first, and the choice among them.
 */
#include <config.h>

#include "iohelper/engine.h"

#include <stdio.h>
#include <string.h>

static const struct ioh_engine *const engines[] = {
  &ioh_engine_copy, /* serves every pair of ends */
};

#define N_ENGINES (sizeof engines / sizeof engines[0])

static const char *const words[] = { "auto", "uring", "splice", "copy" };

static const struct ioh_engine *
take (const struct ioh_engine *engine, struct ioh_report *report, const char *why)
{
  snprintf (report->engine, sizeof report->engine, "%s", engine->name);
  snprintf (report->engine_why, sizeof report->engine_why, "%s", why);
  return engine;
}

const struct ioh_engine *
ioh_engine_choose (int choice, const struct ioh_transfer *t, struct ioh_report *report)
{
  const char *why = "this build does not have it";

  for (size_t i = 0; i < N_ENGINES; i++)
    {
      if (choice != IOH_ENGINE_AUTO && strcmp (engines[i]->name, words[choice]) != 0)
        continue;
      why = engines[i]->unfit (t);
      if (!why)
        return take (engines[i], report,
                     choice == IOH_ENGINE_AUTO ? "the best one for these ends" : "asked for");
    }
  ioh_failure_text (&report->failure, IOH_USAGE, IOH_END_HELPER, "choosing an engine",
                    IOH_NO_OFFSET, "engine '%s' cannot be used: %s; use --engine=auto",
                    words[choice], why);
  return NULL;
}
