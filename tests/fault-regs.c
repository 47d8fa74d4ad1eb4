/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fault-regs.c - see fault-regs.h.
 */
#include <config.h>

#include "tests/fault-regs.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __x86_64__ || defined __aarch64__
#define SUPPORTED
#endif

/* ---- names ------------------------------------------------------------------------ */

#define ANYWHERE(X)                                                           \
  X (bind) X (brk) X (clone) X (clone3) X (close) X (connect) X (dup) X (dup3) X (epoll_create1) \
  X (epoll_ctl) X (epoll_pwait) X (epoll_pwait2) X (eventfd2) X (execve) X (exit) X (exit_group) \
  X (faccessat) X (faccessat2) X (fadvise64) X (fallocate) X (fchmod) X (fchown) X (fcntl)       \
  X (fdatasync) X (fgetxattr) X (flock) X (fsetxattr) X (fstat) X (fsync) X (ftruncate) X (futex) \
  X (getdents64) X (getegid) X (geteuid) X (getgid) X (getpid) X (getppid) X (getrandom)         \
  X (getuid) X (getxattr) X (ioctl) X (kill) X (linkat) X (listxattr) X (lseek) X (madvise)      \
  X (mincore) X (mmap) X (mprotect) X (mremap) X (munmap) X (openat) X (pipe2) X (ppoll)         \
  X (prctl) X (pread64) X (prlimit64) X (pwrite64) X (pwritev2) X (read) X (readlinkat)          \
  X (recvmsg) X (renameat) X (renameat2) X (rseq) X (rt_sigaction) X (rt_sigprocmask)            \
  X (rt_sigreturn) X (sendmsg) X (sendto) X (set_robust_list) X (set_tid_address) X (setpgid)    \
  X (setsid) X (socket) X (socketpair) X (statfs) X (statx) X (sync_file_range) X (tgkill)       \
  X (sigaltstack) X (timerfd_create) X (timerfd_settime) X (uname) X (unlinkat) X (wait4)        \
  X (waitid) X (write)                                                                           \
  X (writev) X (clock_gettime) X (gettid) X (kcmp) X (sysinfo) X (fstatfs) X (newfstatat)

#define OLD_MACHINES(X)                                                       \
  X (access) X (arch_prctl) X (dup2) X (epoll_create) X (epoll_wait) X (fork) X (open) X (pipe)  \
  X (poll) X (readlink) X (rename) X (stat) X (lstat) X (unlink) X (vfork) X (getrlimit)         \
  X (setrlimit)

static const struct
{
  long number;
  const char *name;
} calls[] = {
#ifdef SUPPORTED
#define X(call) { __NR_##call, #call },
#ifdef __NR_open
  OLD_MACHINES (X)
#endif
  ANYWHERE (X)
#undef X
#endif
  { 451, "cachestat" }, /* the same on every machine, and newer than some headers */
};

#define N_CALLS (sizeof calls / sizeof calls[0])

long
fault_call_number (const char *name)
{
  for (size_t i = 0; i < N_CALLS; i++)
    if (strcmp (calls[i].name, name) == 0)
      return calls[i].number;
  return -2;
}

const char *
fault_call_name (long number)
{
  static char text[32];

  for (size_t i = 0; i < N_CALLS; i++)
    if (calls[i].number == number)
      return calls[i].name;
  snprintf (text, sizeof text, "nr-%ld", number);
  return text;
}

/* ---- registers -------------------------------------------------------------------- */

#ifdef SUPPORTED

static bool
get_registers (pid_t pid, struct user_regs_struct *regs)
{
  struct iovec iov = { regs, sizeof *regs };

  return ptrace (PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov) == 0;
}

static void
set_registers (pid_t pid, struct user_regs_struct *regs)
{
  struct iovec iov = { regs, sizeof *regs };

  (void) ptrace (PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov);
}

#if defined __x86_64__

#define BREAKPOINT 0xccul
#define BREAKPOINT_MASK 0xfful
#define PC(regs) ((regs).rip)
#define PC_BEHIND 1 /* the trap leaves it after the instruction */

void
fault_skip_call (pid_t pid)
{
  struct user_regs_struct regs;

  if (!get_registers (pid, &regs))
    return;
  regs.orig_rax = (unsigned long) -1;
  set_registers (pid, &regs);
}

void
fault_set_result (pid_t pid, long value)
{
  struct user_regs_struct regs;

  if (!get_registers (pid, &regs))
    return;
  regs.rax = (unsigned long) value;
  set_registers (pid, &regs);
}

#elif defined __aarch64__

#define BREAKPOINT 0xd4200000ul
#define BREAKPOINT_MASK 0xfffffffful
#define PC(regs) ((regs).pc)
#define PC_BEHIND 0

void
fault_skip_call (pid_t pid)
{
  int none = -1;
  struct iovec iov = { &none, sizeof none };

  (void) ptrace (PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &iov);
}

void
fault_set_result (pid_t pid, long value)
{
  struct user_regs_struct regs;

  if (!get_registers (pid, &regs))
    return;
  regs.regs[0] = (unsigned long) value;
  set_registers (pid, &regs);
}

#endif

bool
fault_supported (void)
{
  return true;
}

static unsigned long
entry_of (pid_t pid)
{
  char name[40];
  unsigned long pair[2], entry = 0;
  int fd;

  snprintf (name, sizeof name, "/proc/%d/auxv", (int) pid);
  fd = open (name, O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && read (fd, pair, sizeof pair) == (ssize_t) sizeof pair && pair[0] != AT_NULL)
    if (pair[0] == AT_ENTRY)
      entry = pair[1];
  if (fd >= 0)
    close (fd);
  return entry;
}

bool
fault_run_to_entry (pid_t pid)
{
  unsigned long entry = entry_of (pid);
  long word = ptrace (PTRACE_PEEKTEXT, pid, entry, 0);
  struct user_regs_struct regs;
  int status;

  if (entry == 0
      || ptrace (PTRACE_POKETEXT, pid, entry,
                 ((unsigned long) word & ~BREAKPOINT_MASK) | BREAKPOINT) < 0
      || ptrace (PTRACE_CONT, pid, 0, 0) < 0 || waitpid (pid, &status, 0) != pid
      || !WIFSTOPPED (status) || WSTOPSIG (status) != SIGTRAP || !get_registers (pid, &regs)
      || PC (regs) - PC_BEHIND != entry)
    return false;
  PC (regs) = entry;
  set_registers (pid, &regs);
  return ptrace (PTRACE_POKETEXT, pid, entry, word) == 0;
}

#else

bool
fault_supported (void)
{
  return false;
}

void
fault_skip_call (pid_t pid)
{
  (void) pid;
}

void
fault_set_result (pid_t pid, long value)
{
  (void) pid;
  (void) value;
}

bool
fault_run_to_entry (pid_t pid)
{
  (void) pid;
  return false;
}

#endif
