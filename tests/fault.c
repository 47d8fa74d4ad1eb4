/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fault.c - runs a program and makes chosen system calls of it fail, or kills
 * or holds it there.
 *
 *   fault [--log=FILE] [--command] [FAULT]... -- PROGRAM [ARG...]
 *
 *   FAULT = WHO:CALL:NUMBER:WHAT
 *     WHO      controller (PROGRAM itself) or worker (its child)
 *     NUMBER   counts that process's calls of that name from 1; "N+": all from
 *              then on; CALL may be "any", which counts all calls, and
 *              read@KIND and write@KIND count those on a pipe, a socket, a file,
 *              a file of /proc, or another thing
 *     WHAT     the name of an errno, KILL, or HOLD: it waits there for SIGKILL
 *   --command  PROGRAM's first child is a command that it runs, the second is
 *              its worker
 *   --log      a line "WHO CALL" for each call, "fault FAULT" for each fault
 *
 * Calls count from the program's entry point on: what the dynamic loader does
 * before is no affair of the program.  A failing call is not carried out, but
 * for close(2), which on Linux releases its descriptor whatever it returns.
 * Exits with PROGRAM's status, 128+n for a signal, when all its processes have
 * ended; with 125 where it does not work.
 *
 * Invariant: whatever becomes of this process, no traced one outlives it.
 */
#include <config.h>

#include "tests/fault-regs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h> /* after sys/ptrace.h, whose names it repeats */

#define FAULTS_MAX 8
#define TRACED_MAX 8
#define CALLS_MAX 1024

enum role { CONTROLLER, WORKER, COMMAND, OTHER };

static const char *const role_names[] = { "controller", "worker", "command", "other" };

/* What a descriptor is, as /proc names it; the first that fits. */
static const struct
{
  const char *name, *prefix;
} kinds[] = { { "pipe", "pipe:" },
              { "socket", "socket:" },
              { "proc", "/proc/" },
              { "file", "/" },
              { "other", "" } };

#define N_KINDS (sizeof kinds / sizeof kinds[0])

struct fault
{
  const char *text;
  enum role role;
  long call;           /* -1: any */
  const char *kind;    /* of the descriptor, or NULL: any */
  unsigned long first, last;
  int err;             /* 0: kill, or hold */
  bool hold;
};

struct traced
{
  pid_t pid;
  enum role role;
  bool begun;          /* its first stop has been seen */
  bool held;           /* it is not let go on */
  int pending;         /* errno to put into the result of the call under way */
  unsigned long calls, count[CALLS_MAX];
  unsigned long by_kind[2][N_KINDS]; /* of read and write */
};

static struct fault faults[FAULTS_MAX];
static unsigned n_faults;
static struct traced traced[TRACED_MAX];
static unsigned n_seen; /* children so far */
static bool has_command;
static FILE *log_file;

static void __attribute__ ((noreturn, format (printf, 1, 2)))
give_up (const char *format, ...)
{
  va_list ap;

  fputs ("fault: ", stderr);
  va_start (ap, format);
  vfprintf (stderr, format, ap);
  va_end (ap);
  fputc ('\n', stderr);
  exit (125);
}

/* ---- what is asked for ---------------------------------------------------------- */

static int
errno_named (const char *name)
{
  for (int e = 1; e < 200; e++)
    if (strerrorname_np (e) && strcmp (strerrorname_np (e), name) == 0)
      return e;
  give_up ("no errno is called '%s'", name);
}

/* Cuts "@KIND" off CALL. */
static const char *
take_kind (char *call)
{
  char *at = strchr (call, '@');

  if (!at)
    return NULL;
  *at = '\0';
  for (size_t i = 0; i < N_KINDS; i++)
    if (strcmp (at + 1, kinds[i].name) == 0)
      return kinds[i].name;
  give_up ("'%s' is no kind of descriptor", at + 1);
}

static void
parse_fault (const char *text)
{
  struct fault *f = &faults[n_faults];
  char who[20], call[40], number[20], what[20], *end;

  if (n_faults++ == FAULTS_MAX)
    give_up ("too many faults");
  if (sscanf (text, "%19[^:]:%39[^:]:%19[^:]:%19s", who, call, number, what) != 4)
    give_up ("'%s' is not WHO:CALL:NUMBER:WHAT", text);
  f->text = text;
  f->role = strcmp (who, role_names[WORKER]) == 0 ? WORKER : CONTROLLER;
  if (f->role == CONTROLLER && strcmp (who, role_names[CONTROLLER]) != 0)
    give_up ("'%s' is neither controller nor worker", who);
  f->kind = take_kind (call);
  f->call = strcmp (call, "any") == 0 ? -1 : fault_call_number (call);
  if (f->call < -1)
    give_up ("no call is called '%s' here", call);
  f->first = f->last = strtoul (number, &end, 10);
  if (f->first == 0 || (*end && strcmp (end, "+") != 0))
    give_up ("'%s' is neither N nor N+", number);
  if (*end)
    f->last = ~0ul;
  f->hold = strcmp (what, "HOLD") == 0;
  f->err = f->hold || strcmp (what, "KILL") == 0 ? 0 : errno_named (what);
}

static char **
parse (char **argv)
{
  for (; *argv && strcmp (*argv, "--") != 0; argv++)
    if (strcmp (*argv, "--command") == 0)
      has_command = true;
    else if (strncmp (*argv, "--log=", 6) == 0)
      {
        log_file = fopen (*argv + 6, "we");
        if (!log_file)
          give_up ("opening %s: %s", *argv + 6, strerror (errno));
      }
    else
      parse_fault (*argv);
  if (!*argv || !argv[1])
    give_up ("usage: fault [--log=FILE] [--command] [WHO:CALL:NUMBER:WHAT]... -- PROGRAM");
  return argv + 1;
}

/* ---- the processes -------------------------------------------------------------- */

static struct traced *
known (pid_t pid)
{
  for (unsigned i = 0; i < TRACED_MAX; i++)
    if (traced[i].pid == pid)
      return &traced[i];
  return NULL;
}

static struct traced *
find (pid_t pid)
{
  struct traced *t = known (pid), *free_one = known (0);

  if (t)
    return t;
  if (!free_one)
    give_up ("too many processes");
  *free_one = (struct traced) { .pid = pid, .role = OTHER };
  if (has_command && n_seen < 2)
    free_one->role = n_seen == 0 ? COMMAND : WORKER;
  else if (n_seen == 0)
    free_one->role = WORKER;
  n_seen++;
  return free_one;
}

static size_t
kind_of (pid_t pid, int fd)
{
  char name[60], target[20] = "";
  size_t i = 0;

  snprintf (name, sizeof name, "/proc/%d/fd/%d", (int) pid, fd);
  if (readlink (name, target, sizeof target - 1) < 0)
    return N_KINDS - 1;
  while (strncmp (target, kinds[i].prefix, strlen (kinds[i].prefix)) != 0)
    i++;
  return i;
}

static void
on_entry (struct traced *t, long nr, int fd)
{
  const char *kind = NULL;
  unsigned long nth, nth_of_kind = 0;

  t->pending = 0;
  if (nr < 0 || nr >= CALLS_MAX)
    return;
  t->calls++;
  nth = ++t->count[nr];
  if (nr == __NR_read || nr == __NR_write)
    {
      size_t k = kind_of (t->pid, fd);
      kind = kinds[k].name;
      nth_of_kind = ++t->by_kind[nr == __NR_write][k];
    }
  if (log_file)
    fprintf (log_file, "%s %s%s%s\n", role_names[t->role], fault_call_name (nr), kind ? "@" : "",
             kind ? kind : "");
  for (unsigned i = 0; i < n_faults; i++)
    {
      const struct fault *f = &faults[i];
      unsigned long n = f->call < 0 ? t->calls : f->kind ? nth_of_kind : nth;

      if (f->kind && f->kind != kind)
        continue;
      if (f->role != t->role || (f->call >= 0 && f->call != nr) || n < f->first || n > f->last)
        continue;
      if (log_file)
        {
          fprintf (log_file, "fault %s\n", f->text);
          fflush (log_file);
        }
      t->held = f->hold;
      if (f->err == 0 && !f->hold)
        kill (t->pid, SIGKILL);
      else if (f->err != 0 && nr != __NR_close)
        fault_skip_call (t->pid);
      t->pending = f->err;
      return;
    }
}

static void
on_call (struct traced *t)
{
  struct ptrace_syscall_info info;

  if (ptrace (PTRACE_GET_SYSCALL_INFO, t->pid, sizeof info, &info) <= 0)
    return;
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
    on_entry (t, (long) info.entry.nr, (int) info.entry.args[0]);
  else if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->pending)
    {
      fault_set_result (t->pid, -t->pending);
      t->pending = 0;
    }
}

/* The signal to deliver, or -1 when it is let go. */
static int
on_stop (struct traced *t, int status)
{
  int number = WSTOPSIG (status), event = status >> 16;

  if (number == (SIGTRAP | 0x80))
    {
      on_call (t);
      return 0;
    }
  if (event == PTRACE_EVENT_EXEC && t->role == COMMAND)
    {
      ptrace (PTRACE_DETACH, t->pid, 0, 0);
      t->pid = 0;
      return -1;
    }
  if (event)
    return 0;
  if (number == SIGSTOP && !t->begun && t->role != CONTROLLER)
    {
      t->begun = true;
      return 0;
    }
  return number;
}

static bool
any_traced (void)
{
  for (unsigned i = 0; i < TRACED_MAX; i++)
    if (traced[i].pid != 0)
      return true;
  return false;
}

/* A shell may have left us children that are not traced. */
static int
watch (pid_t program)
{
  int status, result = 125;
  pid_t pid;

  while (any_traced () && ((pid = waitpid (-1, &status, __WALL)) > 0 || errno == EINTR))
    {
      struct traced *t;
      int number;

      if (pid < 0)
        continue;
      if (WIFSTOPPED (status))
        t = find (pid);
      else if (!(t = known (pid)))
        continue;
      if (WIFEXITED (status) || WIFSIGNALED (status))
        {
          if (pid == program)
            result = WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
          t->pid = 0;
          continue;
        }
      number = on_stop (t, status);
      if (number >= 0 && !t->held)
        ptrace (PTRACE_SYSCALL, pid, 0, number);
    }
  return result;
}

static pid_t
start (char **argv)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      ptrace (PTRACE_TRACEME, 0, 0, 0);
      raise (SIGSTOP);
      execvp (argv[0], argv);
      fprintf (stderr, "fault: %s: %s\n", argv[0], strerror (errno));
      _exit (127);
    }
  if (pid < 0 || waitpid (pid, &status, 0) != pid || !WIFSTOPPED (status)
      || ptrace (PTRACE_SETOPTIONS, pid, 0,
                 PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK
                   | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC) < 0)
    give_up ("tracing: %s", strerror (errno));
  ptrace (PTRACE_CONT, pid, 0, 0);
  if (waitpid (pid, &status, 0) != pid || !WIFSTOPPED (status))
    exit (127);
  if (!fault_run_to_entry (pid))
    give_up ("%s does not come to its entry point", argv[0]);
  traced[0] = (struct traced) { .pid = pid, .role = CONTROLLER, .begun = true };
  return pid;
}

int
main (int argc, char **argv)
{
  pid_t program;
  int status, null;

  (void) argc;
  if (!fault_supported ())
    give_up ("not on this machine");
  argv = parse (argv + 1);
  program = start (argv);
  /* The other ends of its pipes must see when it leaves. */
  null = open ("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2 (null, STDIN_FILENO) < 0 || dup2 (null, STDOUT_FILENO) < 0)
    give_up ("opening /dev/null: %s", strerror (errno));
  ptrace (PTRACE_SYSCALL, program, 0, 0);
  status = watch (program);
  if (log_file && fclose (log_file) != 0)
    give_up ("the log could not be written");
  return status;
}
