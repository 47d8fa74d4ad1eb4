#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""f-matrix.py - every system call of a relay fails once, in every role.

Each form runs once under strace to learn which calls it makes after its start;
then each of those calls fails, with errnos that it can give: the first, the
last and some in between for the two main forms, the first and the last for the
others.  Whatever happens, exit status, record and bytes must agree:

  status 0       the target holds the whole stream, the consumer got all of it
  any other      an atomic target holds the old content, unless the record says
                 "new, durability unknown"; no temporary file is left
  always         an end within 10 s, by no signal, with one line that says why
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HELPER = os.environ["IOHELPER"]
STREAM = bytes((i * 2654435761 >> 11) & 255 for i in range(4096)) * 160 + b"odd tail" * 9 + b"!"
OLD = b"old content\n" * 1000
LIMIT = 10

# Errnos that a call can give.
DATA = ["EIO", "ENOSPC", "EDQUOT", "EFBIG", "EINTR", "EAGAIN"]
ERRORS = {
    "read": ["EIO", "EINTR", "EAGAIN"], "pread64": ["EIO", "EINTR", "EINVAL"],
    "write": DATA, "pwrite64": DATA + ["EINVAL"], "pwritev2": DATA + ["EOPNOTSUPP"],
    "fsync": ["EIO", "ENOSPC", "EDQUOT", "EINTR"], "fdatasync": ["EIO", "ENOSPC", "EDQUOT", "EINTR"],
    "sync_file_range": ["EIO", "ENOSPC"], "close": ["EIO", "ENOSPC", "EINTR"],
    "openat": ["EACCES", "EMFILE", "EIO", "ENOSPC", "EINTR"], "linkat": ["EIO", "ENOSPC", "EPERM"],
    "renameat": ["EIO", "ENOSPC", "EBUSY"], "renameat2": ["EIO", "EINVAL"], "ftruncate": ["EIO", "EINTR"],
    "fcntl": ["EINVAL", "EBADF"], "fstat": ["EIO"], "newfstatat": ["EIO", "EACCES"], "statx": ["ENOSYS", "EIO"],
    "lseek": ["EINVAL"], "ioctl": ["EIO"], "mmap": ["ENOMEM"], "socketpair": ["EMFILE"],
    "clone": ["EAGAIN", "ENOMEM"], "fork": ["EAGAIN"], "wait4": ["EINTR"], "epoll_create1": ["EMFILE"],
    "epoll_ctl": ["ENOMEM"], "epoll_wait": ["EINTR"], "recvmsg": ["EINTR"], "sendmsg": ["EINTR", "ENOBUFS"],
    "flock": ["EAGAIN", "ENOLCK"], "fchown": ["EPERM"], "fchmod": ["EPERM", "EIO"], "fsetxattr": ["EPERM", "ENOSPC"],
    "getdents64": ["EIO"], "readlinkat": ["EIO"], "fadvise64": ["EINVAL"], "cachestat": ["ENOSYS", "EPERM"],
    "mincore": ["ENOMEM"], "faccessat": ["EACCES"], "faccessat2": ["EACCES"], "unlinkat": ["EIO"], "prctl": ["EINVAL"],
    "poll": ["EINTR"], "getrandom": ["ENOSYS"], "dup3": ["EBUSY"], "pipe2": ["EMFILE"], "listxattr": ["EIO"],
}

class Form:
    """One way to run the helper: its argv and how to judge what it left."""

    def __init__(self, name, save, args, libvirt=False, atomic=True, old=True, whole=False):
        self.name, self.save, self.args, self.whole = name, save, args, whole
        self.libvirt, self.atomic, self.old = libvirt, atomic, old

    def run(self, prefix, folder):
        target = os.path.join(folder, "vm")
        if self.old or not self.save:
            with open(target, "wb") as f:
                f.write(OLD if self.save else STREAM)
        argv = [HELPER] + [a.replace("TARGET", target).replace("FOLDER", folder) for a in self.args]
        stdin, stdout, source = subprocess.DEVNULL, subprocess.DEVNULL, None
        if self.save:
            reader, writer = os.pipe()
            source = subprocess.Popen(["cat", os.path.join(BASE, "stream")], stdout=writer, stderr=subprocess.DEVNULL)
            os.close(writer)
            stdin = reader
            if self.libvirt:
                stdout = os.open(target, os.O_WRONLY | os.O_TRUNC | os.O_DIRECT)
        else:
            stdout = subprocess.PIPE
            if self.libvirt:
                stdin = os.open(target, os.O_RDONLY | os.O_DIRECT)
        p = subprocess.Popen(prefix + argv, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)
        for fd in (stdin, stdout):
            if isinstance(fd, int) and fd > 2:
                os.close(fd)
        try:
            out, err = p.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            return "it did not end"
        finally:
            if source:
                source.wait()
        return self.judge(folder, target, p.returncode, out, err.decode(errors="replace"))

    def judge(self, folder, target, status, out, err):
        """None, or what is wrong."""
        left = sorted(f for f in os.listdir(folder) if f not in ("vm", "record", "strace"))
        content = open(target, "rb").read() if os.path.exists(target) else None
        record = {}
        if os.path.exists(os.path.join(folder, "record")):
            with open(os.path.join(folder, "record"), encoding="utf-8") as f:
                record = json.load(f)
        if status == 127 and "loading shared libraries" in err:
            return None         # the loader's call of that number, before main()
        if status < 0:
            return f"it died of signal {-status}: {err}"
        if left and not ALLOW_LEFT:
            return f"files are left: {left}"
        if status == 0:
            got = content if self.save else out
            if got != STREAM:
                return f"status 0, and {len(got or b'')} bytes that are not the stream"
            if record and record["outcome"] not in ("committed", "delivered"):
                return f"status 0, and the record says {record['outcome']}"
            return None
        if not re.match(r"iohelper: .+\n", err):
            return f"status {status}, and no line that says why: {err!r}"
        if record and record["exit_status"] != status:
            return f"status {status}, and the record says {record['exit_status']}"
        if self.save and self.atomic:
            target_word = record.get("target", "untouched")
            if content == STREAM and target_word.startswith("new"):
                return None
            if content != (OLD if self.old else None):
                return f"status {status}, target {target_word!r}, and the old file is not what it was"
        return None


RECORD = "--result=FOLDER/record"
SMALL = "--buffer-size=64K"
FORMS = [
    Form("save to a new name", True, ["save", RECORD, SMALL, "TARGET"], old=False),
    Form("save over an old file", True, ["save", RECORD, SMALL, "TARGET"], whole=True),
    Form("save, --cache=drop", True, ["save", RECORD, SMALL, "--cache=drop", "TARGET"]),
    Form("save, --no-clobber", True, ["save", RECORD, SMALL, "--no-clobber", "TARGET"], old=False),
    Form("save, --in-place", True, ["save", RECORD, SMALL, "--in-place", "TARGET"], atomic=False),
    Form("restore", False, ["restore", RECORD, SMALL, "TARGET"], whole=True),
    Form("restore, --cache=drop", False, ["restore", RECORD, SMALL, "--cache=drop", "TARGET"]),
    Form("libvirt's form, writing", True, ["TARGET", "1"], libvirt=True, atomic=False),
    Form("libvirt's form, reading", False, ["TARGET", "0"], libvirt=True),
]
BASE = ""
ALLOW_LEFT = False


def calls_of(form):
    """{call: (first number that is ours, last number)}, the most of any process."""
    with tempfile.TemporaryDirectory(dir=BASE) as folder:
        log = os.path.join(folder, "strace")
        wrong = form.run(["strace", "-f", "-qq", "-o", log], folder)
        if wrong:
            raise SystemExit(f"Bail out! {form.name} without a fault: {wrong}")
        counts, begun, main = {}, {}, None
        for line in open(log, encoding="utf-8", errors="replace"):
            m = re.match(r"(\d+) +(\w+)\(", line)
            if not m:
                continue
            pid, call = m.groups()
            main = main or pid
            counts.setdefault(pid, {}).setdefault(call, 0)
            counts[pid][call] += 1
            # The first thing that main() does; what is before is the loader's.
            if pid == main and not begun and 'openat(AT_FDCWD, "/", ' in line:
                begun = {**counts[pid], call: counts[pid][call] - 1}
        result = {}
        for pid, calls in counts.items():
            for call, n in calls.items():
                first = begun.get(call, 0) + 1 if pid == main else 1
                numbers = result.setdefault(call, set())
                numbers.update(range(first, n + 1))
        return result


def chosen(form, numbers):
    numbers = sorted(numbers)
    if form.whole:
        return numbers if len(numbers) <= 4 else [numbers[0], numbers[1], numbers[len(numbers) // 2], numbers[-1]]
    return sorted({numbers[0], numbers[-1]})


def errors_of(form, call):
    return ERRORS[call] if form.whole else ERRORS[call][:2]


def inject(job):
    form, call, number, error = job
    with tempfile.TemporaryDirectory(dir=BASE) as folder:
        wrong = form.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                          "-e", f"inject={call}:error={error}:when={number}"], folder)
    return wrong and f"{call} number {number} fails with {error}: {wrong}"


def main():
    global BASE, ALLOW_LEFT
    if os.getuid() != 0 or not shutil.which("strace"):
        word = "not ok" if os.environ.get("IOH_NO_SKIP") == "1" else "ok"
        print(f"{word} 1 - the fault matrix # SKIP needs root and strace\n1..1")
        return 0
    BASE = tempfile.mkdtemp(prefix="matrix-", dir=os.environ.get("top_builddir", "."))
    n = bad = 0
    try:
        with open(os.path.join(BASE, "stream"), "wb") as f:
            f.write(STREAM)
        with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
            for form in FORMS:
                calls = calls_of(form)
                for call in sorted(set(calls) & set(ERRORS)):
                    ALLOW_LEFT = call == "unlinkat"
                    jobs = [(form, call, number, error) for number in chosen(form, calls[call])
                            for error in errors_of(form, call)]
                    wrong = [w for w in pool.map(inject, jobs) if w]
                    n += 1
                    bad += bool(wrong)
                    print(f"{'not ok' if wrong else 'ok'} {n} - {form.name}: whichever {call} fails, "
                          f"status, record and bytes agree ({len(jobs)} faults)", flush=True)
                    for w in wrong[:8]:
                        print("# " + w.replace("\n", " "), flush=True)
                unknown = sorted(set(calls) - set(ERRORS) - QUIET)
                n += 1
                bad += bool(unknown)
                print(f"{'not ok' if unknown else 'ok'} {n} - {form.name}: every call that it makes is in the matrix")
                if unknown:
                    print("# not there: " + " ".join(unknown))
    finally:
        shutil.rmtree(BASE, ignore_errors=True)
    print(f"1..{n}")
    return 1 if bad else 0


# Calls that cannot fail, or only the loader's and the C library's own.
QUIET = {"execve", "brk", "arch_prctl", "set_tid_address", "set_robust_list", "rseq", "mprotect", "munmap",
         "prlimit64", "access", "exit_group", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "getpid", "getppid",
         "gettid", "getuid", "geteuid", "getgid", "getegid", "tgkill", "kill", "exit", "restart_syscall", "uname",
         "sysinfo", "futex", "clock_gettime", "gettimeofday", "times", "pipe", "dup2", "setrlimit", "getrlimit"}

if __name__ == "__main__":
    sys.exit(main())
