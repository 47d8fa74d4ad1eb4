/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fake-options.c - fake-vm's options.
 *
 * Invariant: one table is parser and --help; what is not in it is refused, and
 * so are abbreviations.
 */
#include <config.h>

#include "tests/fake-vm.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MAX 0x7ffff000u /* one read(2) or write(2) moves no more */

static const char *const kinds[] = { "plain", "qemu", "libvirt", "elf" };

int
fake_usage (const char *format, ...)
{
  va_list ap;

  fputs ("fake-vm: ", stderr);
  va_start (ap, format);
  vfprintf (stderr, format, ap);
  va_end (ap);
  fputc ('\n', stderr);
  return FAKE_USAGE;
}

static bool
parse_number (const char *text, char **end, uint64_t *ret_value)
{
  unsigned long long v;

  if (*text < '0' || *text > '9')
    return false;
  errno = 0;
  v = strtoull (text, end, 10);
  if (errno)
    return false;
  *ret_value = v;
  return true;
}

static bool
parse_size (const char *text, uint64_t *ret_bytes)
{
  static const char suffixes[] = "KMGT";
  const char *suffix;
  uint64_t v;
  unsigned shift;
  char *end;

  if (!parse_number (text, &end, &v))
    return false;
  if (*end)
    {
      suffix = strchr (suffixes, *end);
      if (!suffix || end[1])
        return false;
      shift = 10 * (unsigned) (suffix - suffixes + 1);
      if (v > (uint64_t) INT64_MAX >> shift)
        return false;
      v <<= shift;
    }
  *ret_bytes = v;
  return v <= INT64_MAX;
}

static bool
set_kind (struct fake_request *rq, const char *value)
{
  for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (strcmp (value, kinds[i]) == 0)
      {
        rq->spec.kind = (enum fake_kind) i;
        return true;
      }
  return false;
}

static bool
set_size (struct fake_request *rq, const char *value)
{
  return parse_size (value, &rq->spec.size);
}

static bool
set_seed (struct fake_request *rq, const char *value)
{
  char *end;
  return parse_number (value, &end, &rq->spec.seed) && !*end;
}

static bool
set_no_vmdesc (struct fake_request *rq, const char *value)
{
  (void) value;
  return rq->spec.no_vmdesc = true;
}

static bool
set_final (struct fake_request *rq, const char *value)
{
  (void) value;
  return rq->spec.final = true;
}

static bool
set_compressed (struct fake_request *rq, const char *value)
{
  (void) value;
  return rq->spec.compressed = true;
}

static bool
set_chunk (struct fake_request *rq, const char *value)
{
  rq->chunking = strcmp (value, "qemu") == 0     ? FAKE_CHUNK_QEMU
                 : strcmp (value, "random") == 0 ? FAKE_CHUNK_RANDOM
                                                 : FAKE_CHUNK_FIXED;
  if (rq->chunking != FAKE_CHUNK_FIXED)
    return true;
  return parse_size (value, &rq->chunk_bytes) && rq->chunk_bytes > 0 && rq->chunk_bytes <= CALL_MAX;
}

static bool
set_read_size (struct fake_request *rq, const char *value)
{
  return parse_size (value, &rq->read_bytes) && rq->read_bytes > 0 && rq->read_bytes <= CALL_MAX;
}

static bool
set_pace (struct fake_request *rq, const char *value)
{
  return parse_size (value, &rq->pace) && rq->pace > 0;
}

static bool
set_preload (struct fake_request *rq, const char *value)
{
  (void) value;
  return rq->preload = true;
}

static bool
set_nonblock (struct fake_request *rq, const char *value)
{
  (void) value;
  return rq->nonblock = true;
}

static bool
set_ending (struct fake_request *rq, const char *value, enum fake_ending ending)
{
  bool once = rq->ending == FAKE_END_NONE;

  rq->ending = ending;
  return once && parse_size (value, &rq->end_off);
}

static bool
set_die_at (struct fake_request *rq, const char *value)
{
  return set_ending (rq, value, FAKE_END_DIE);
}

static bool
set_stop_at (struct fake_request *rq, const char *value)
{
  return set_ending (rq, value, FAKE_END_STOP);
}

static bool
set_close_at (struct fake_request *rq, const char *value)
{
  return set_ending (rq, value, FAKE_END_CLOSE);
}

static bool
set_exit_at (struct fake_request *rq, const char *value)
{
  char off[32], *end;
  const char *colon = strchr (value, ':');
  size_t len = colon ? (size_t) (colon - value) : strlen (value);
  uint64_t status = 1;

  if (len >= sizeof off)
    return false;
  memcpy (off, value, len);
  off[len] = '\0';
  if (colon && (!parse_number (colon + 1, &end, &status) || *end || status > 255))
    return false;
  rq->end_status = (int) status;
  return set_ending (rq, off, FAKE_END_EXIT);
}

static bool
set_stall_at (struct fake_request *rq, const char *value)
{
  return parse_size (value, &rq->stall_off);
}

static bool
set_stall_ms (struct fake_request *rq, const char *value)
{
  uint64_t ms;
  char *end;

  if (!parse_number (value, &end, &ms) || *end || ms > INT_MAX)
    return false;
  rq->stall_ms = (int) ms;
  return true;
}

static bool
set_file (struct fake_request *rq, const char *value)
{
  rq->file = value;
  return *value;
}

#define W FAKE_WRITE
#define C FAKE_CHECK
#define S FAKE_SIZE

/* VALUE: what stands behind the = sign, NULL for a switch. */
static const struct option
{
  const char *name, *value;
  int commands;
  bool (*set) (struct fake_request *rq, const char *value);
  const char *help;
} options[] = {
  { "kind", "KIND", W | C | S, set_kind, "plain (default), qemu, libvirt or elf" },
  { "size", "SIZE", W | C | S, set_size, "bytes in all, reached exactly (16 MiB + 43)" },
  { "seed", "N", W | C | S, set_seed, "another stream for every N (0)" },
  { "no-vmdesc", NULL, W | C | S, set_no_vmdesc, "qemu, libvirt: no JSON description at the end" },
  { "final", NULL, W | C | S, set_final, "libvirt: the header of a finished image" },
  { "compressed", NULL, W | C | S, set_compressed, "libvirt: the header says gzip, the body is plain" },
  { "chunk", "SIZE", W, set_chunk, "bytes per write, qemu (default but for plain) or random" },
  { "preload", NULL, W, set_preload, "make the whole stream before the first write" },
  { "nonblock", NULL, W, set_nonblock, "write through a non-blocking descriptor" },
  { "file", "FILE", C, set_file, "check FILE instead of stdin" },
  { "read-size", "SIZE", C, set_read_size, "bytes per read (32K, as QEMU)" },
  { "pace", "SIZE", W | C, set_pace, "bytes per second" },
  { "stall-at", "OFF", W | C, set_stall_at, "say \"stalled\" and move nothing more from OFF on" },
  { "stall-ms", "N", W | C, set_stall_ms, "go on after N milliseconds" },
  { "die-at", "OFF", W | C, set_die_at, "die of SIGKILL after OFF bytes" },
  { "exit-at", "OFF[:STATUS]", W | C, set_exit_at, "exit after OFF bytes, with 1 or STATUS" },
  { "stop-at", "OFF", W | C, set_stop_at, "a stream that is cut to OFF bytes, exit 0" },
  { "close-at", "OFF", C, set_close_at, "read OFF bytes, close stdin and exit 0" },
};
#define N_OPTIONS (sizeof options / sizeof options[0])

int
fake_help (void)
{
  printf ("Usage: fake-vm write|check|size [OPTION]...\n"
          "  write   writes a stream to stdout\n"
          "  check   compares stdin with that stream\n"
          "  size    prints how long it is\n\n");
  for (unsigned i = 0; i < N_OPTIONS; i++)
    {
      const struct option *o = &options[i];
      char name[40];

      snprintf (name, sizeof name, "--%s%s%s", o->name, o->value ? "=" : "", o->value ? o->value : "");
      printf ("  %-24s %c%c%c  %s\n", name, o->commands & W ? 'w' : ' ', o->commands & C ? 'c' : ' ',
              o->commands & S ? 's' : ' ', o->help);
    }
  printf ("\nSIZE and OFF take K, M, G and T (powers of 1024).\n"
          "Exit status: 0 done, 1 the stream differs, 2 usage, 3 the other end left, 4 an I/O error.\n");
  return FAKE_OK;
}

int
fake_parse_option (struct fake_request *rq, enum fake_command command, const char *arg)
{
  const char *value;
  size_t len;

  if (strncmp (arg, "--", 2) != 0)
    return fake_usage ("unexpected argument '%s'", arg);
  value = strchr (arg, '=');
  len = value ? (size_t) (value - arg) : strlen (arg);
  for (unsigned i = 0; i < N_OPTIONS; i++)
    {
      const struct option *o = &options[i];

      if (strlen (o->name) != len - 2 || strncmp (o->name, arg + 2, len - 2) != 0)
        continue;
      if (!(o->commands & (int) command))
        return fake_usage ("--%s is not for this command", o->name);
      if (!o->value != !value)
        return fake_usage (value ? "--%s takes no value" : "--%s needs a value", o->name);
      if (!o->set (rq, value ? value + 1 : NULL))
        return fake_usage ("--%s=%s is not valid here, see --help", o->name, value ? value + 1 : "");
      return FAKE_OK;
    }
  return fake_usage ("unknown option '%s', see --help", arg);
}
