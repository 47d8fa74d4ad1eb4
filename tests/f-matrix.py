#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""f-matrix.py - whichever system call of a relay fails, the account of it is true.

Each form of the helper runs once to learn which calls its two processes make;
then those calls (the first, the last, one in the middle; every one of the
rarer ones) fail one at a time with each errno that they can give.  After each:

  exit status 0   the target holds the stream, or the consumer got it, to the
                  byte; the record says committed or delivered
  any other       a file to be replaced is as it was, unless the record says
                  "new, durability unknown"; else the record's "target" and
                  "bytes" are what is found; the record has the errno
  always          an end within 10 s, not by a signal, with a line that says why;
                  no process and no temporary file is left

Invariant: a result line names its form, its process and its call; a failure
names the fault, to be repeated with tests/fault.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("top_builddir", os.path.dirname(HERE))
HELPER = os.environ.get("IOHELPER", BUILD + "/iohelper/iohelper")
FAULT = os.environ.get("FAULT", BUILD + "/tests/fault")
FAKE_VM = os.environ.get("FAKE_VM", BUILD + "/tests/fake-vm")
OLD = b"old content\n" * 1000
LIMIT_S = 10
AT_ONCE = 2
UNSURE = "new, durability unknown"
SANITIZED = b"__asan_init" in open(HELPER, "rb").read()

# What each call can fail with.
SPACE = ["EIO", "ENOSPC", "EDQUOT", "EFBIG"]
RETRY = ["EINTR", "EAGAIN"]
ERRORS = {
    "cachestat": ["ENOSYS", "EPERM"], "clone": ["EAGAIN", "ENOMEM"], "close": ["EIO", "ENOSPC", "EINTR"],
    "connect": ["ECONNREFUSED"], "dup3": ["EBUSY", "EMFILE"], "epoll_create1": ["EMFILE", "ENOMEM"],
    "epoll_ctl": ["ENOMEM", "ENOSPC"], "epoll_pwait": ["EINTR"], "epoll_wait": ["EINTR"], "eventfd2": ["EMFILE"],
    "faccessat": ["EACCES"], "faccessat2": ["EACCES", "EIO"], "fadvise64": ["EINVAL"], "fchmod": ["EPERM", "EIO"],
    "fchown": ["EPERM"], "fcntl": ["EINVAL", "EPERM", "EMFILE"], "fdatasync": SPACE[:3] + ["EINTR"],
    "fgetxattr": ["EIO"], "flock": ["EAGAIN", "ENOLCK"], "fsetxattr": ["EPERM", "ENOSPC"], "fstat": ["EIO"],
    "fsync": SPACE[:3] + ["EINTR"], "ftruncate": ["EIO", "EINTR"], "getdents64": ["EIO"], "getrandom": ["ENOSYS"],
    "getxattr": ["EIO"], "ioctl": ["EIO"], "kcmp": ["ENOSYS", "EPERM"],
    "linkat": ["EIO", "ENOSPC", "EPERM", "EMLINK"], "listxattr": ["EIO"],
    "lseek": ["EINVAL"], "mincore": ["ENOMEM"], "mmap": ["ENOMEM"], "newfstatat": ["EIO", "EACCES"],
    "openat": ["EACCES", "EMFILE", "EIO", "ENOSPC", "EINTR"], "pipe2": ["EMFILE"], "poll": ["EINTR"],
    "ppoll": ["EINTR"], "prctl": ["EINVAL"], "pread64": ["EIO", "EINVAL"] + RETRY, "prlimit64": ["EPERM"],
    "pwrite64": SPACE + ["EINVAL"] + RETRY, "pwritev2": SPACE + ["EOPNOTSUPP", "EINVAL"] + RETRY,
    "read@pipe": ["EIO"] + RETRY, "read@file": ["EIO"] + RETRY, "read@proc": ["EIO"],
    "readlinkat": ["EIO", "ENOMEM"], "recvmsg": ["EINTR", "ENOMEM"],
    "renameat": ["EIO", "ENOSPC", "EBUSY", "EPERM"], "renameat2": ["EIO", "EINVAL"], "rt_sigaction": ["EINVAL"],
    "sendmsg": ["EINTR", "ENOBUFS"], "sendto": ["EINTR", "ENOBUFS"], "socketpair": ["EMFILE", "ENFILE"],
    "statx": ["ENOSYS", "EIO"], "sync_file_range": ["EIO", "ENOSPC", "EINTR", "EINVAL"],
    "timerfd_create": ["EMFILE"], "unlinkat": ["EIO", "EACCES"], "write@pipe": ["EIO"] + RETRY,
    "write@file": SPACE + RETRY,
}
if SANITIZED:
    del ERRORS["mmap"]  # the sanitizer's own calls would fail

# No fault of these: they cannot fail (wait4 is for a child that exists), or are
# the C library's own.
QUIET = set("""wait4 mmap brk munmap mremap madvise mprotect futex exit exit_group execve getpid getppid gettid getuid
    geteuid getgid getegid kill rseq rt_sigprocmask rt_sigreturn set_robust_list set_tid_address arch_prctl
    sysinfo uname clock_gettime tgkill sigaltstack""".split())
# In the controller these are on libevent's own pipe for signals, which never
# fails so: it is only read when there is something in it.
OWN_PIPE = {("controller", "read@pipe"), ("controller", "write@pipe")}

# Advice and comfort: with one of these failing there is no reason to fail.
ADVICE = set("""cachestat dup3 fadvise64 fchown fgetxattr flock fsetxattr getdents64 getrandom getxattr kcmp
    listxattr mincore prctl prlimit64 read@proc rt_sigaction statx""".split())
# Retried, or done in another way.
AGAIN = {("EINTR", None), ("EAGAIN", "read@pipe"), ("EAGAIN", "read@file"), ("EAGAIN", "pread64"),
         ("EAGAIN", "write@pipe"), ("EAGAIN", "write@file"), ("EAGAIN", "pwrite64"), ("EAGAIN", "pwritev2"),
         ("EOPNOTSUPP", "pwritev2"), ("EINVAL", "pwritev2"), ("EINVAL", "sync_file_range")}
# Of the worker's calls, what only the stream, its file and its commit need.
# Such an error is never overlooked, and the record has it.
VITAL = set("""read@pipe read@file write@pipe write@file pwrite64 pwritev2 fsync fdatasync ftruncate
    sync_file_range""".split())


def harmless(call, error):
    return call in ADVICE or (error, None) in AGAIN or (error, call) in AGAIN


class Form:
    """A way to call the helper.  args: TARGET is the file, FOLDER its folder, FD a descriptor of it;
    how: None, or "stdout" or "stdin" or "fd" when the file comes as a descriptor."""

    def __init__(self, name, args, save=True, atomic=False, old=True, how=None, flags=0, wrap=()):
        self.name, self.args, self.save, self.atomic, self.old = name, args, save, atomic, old
        self.how, self.flags, self.wrap = how, flags, wrap

    def run(self, faults, keep_log=None):
        """None, or what is wrong; keep_log is told which calls were made."""
        with tempfile.TemporaryDirectory(dir=BASE) as folder:
            target, record = folder + "/vm", folder + "/record"
            if self.old:
                with open(target, "wb") as f:
                    f.write(OLD if self.save else STREAM)
            status, out, err = self.call(folder, target, faults)
            if status is None:
                return "it did not end"
            if not os.path.exists(folder + "/log"):
                return f"it did not run: {err!r}"
            content = None
            if os.path.exists(target):
                with open(target, "rb") as f:
                    content = f.read()
            found = {}
            if os.path.exists(record):
                with open(record, encoding="utf-8") as f:
                    found = json.load(f)
            with open(folder + "/log", encoding="utf-8") as f:
                lines = f.read().splitlines()
            if keep_log is not None:
                keep_log += lines
            # How many reads a stream takes is never quite the same.
            if faults and "fault " + faults[0] not in lines:
                faults = []
            left = sorted(set(os.listdir(folder)) - {"vm", "record", "log"})
            if left and not any(":unlinkat:" in f for f in faults):
                return f"status {status}, and files are left: {' '.join(left)}"
            wrong = self.judge(status, content, out, err, found)
            if not faults and status != 0:
                wrong = wrong or f"status {status} without a fault: {err!r}"
            return wrong or (faults and self.judge_fault(faults[0].split(":"), status, err, found)) or None

    def call(self, folder, target, faults):
        fd = None
        if self.how:
            fd = os.open(target, (os.O_WRONLY | os.O_TRUNC if self.save else os.O_RDONLY) | self.flags)
        words = {"TARGET": target, "FOLDER": folder, "FD": str(fd)}
        args = [re.sub("TARGET|FOLDER|FD", lambda m: words[m[0]], a) for a in self.args]
        argv = [*self.wrap, FAULT, f"--log={folder}/log", *faults, "--", HELPER, *args]
        ends = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        feeder = None
        if self.save:
            ends["stdin"], writer = os.pipe()
            feeder = threading.Thread(target=feed, args=(writer,))
        else:
            ends["stdout"] = subprocess.PIPE
        if self.how in ends:
            ends[self.how] = fd
        with subprocess.Popen(argv, stderr=subprocess.PIPE, pass_fds=(fd,) if self.how == "fd" else (), **ends) as p:
            for end in {fd, ends["stdin"] if self.save else None} - {None}:
                os.close(end)
            if feeder:
                feeder.start()
            try:
                out, err = p.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                p.kill()  # and all that it traces
                p.communicate()
                return None, None, None
            finally:
                if feeder:
                    feeder.join()
        return p.returncode, out, err.decode(errors="replace")

    def judge(self, status, content, out, err, record):
        """Status, record and bytes must agree with each other."""
        lost = "writing the record to" in err
        if status < 0 or status >= 125:
            return f"it ended with status {status}: {err!r}"
        if not self.save and content != STREAM:
            return f"status {status}, and the file that was read is changed"
        if not self.save and not STREAM.startswith(out):
            return f"status {status}, and the consumer got other bytes"
        if not re.fullmatch("(iohelper: .+\n){0,3}", err):
            return f"status {status}, and this on stderr: {err!r}"
        if status == 0:
            if (content if self.save else out) != STREAM:
                return "status 0, and the bytes are not the stream's"
            if self.named() and not lost and record.get("outcome") not in ("committed", "delivered"):
                return f"status 0, and the record says {record.get('outcome')}: {err!r}"
            return None
        if not err:
            return f"status {status}, and no line that says why"
        if not record:
            if self.atomic and content != (OLD if self.old else None):
                return f"status {status}, and the old file is not what it was"
            return None
        if record["exit_status"] != status or record["outcome"] in ("committed", "delivered"):
            return f"status {status}, and the record says {record['exit_status']}, {record['outcome']}"
        error = record["error"]
        if f"iohelper: {error['message']}\n" not in err:
            return f"the record says {error['message']!r}, and stderr {err!r}"
        if error["errno"] and not (error["message"].startswith(error["operation"] + " ") and error["text"] in err):
            return f"the message does not begin with its operation and say its error: {err!r}"
        return self.judge_target(status, content, out, record)

    def judge_target(self, status, content, out, record):
        if not self.save:
            # A data plane that was killed could not count its last call.
            exact = record["data_plane"] == "ended"
            if len(out) == record["bytes"] or (len(out) > record["bytes"] and not exact):
                return None
            return f"record: {record['bytes']} bytes; delivered: {len(out)}"
        word, before = record["target"], OLD if self.old else None
        if self.how:
            before = b""
        good = {"untouched": content == before, "new": content == STREAM, UNSURE: content == STREAM,
                "partial": not self.atomic and (content or b"").startswith(STREAM[:record["bytes"]]),
                "unknown": not self.atomic or content in (before, STREAM)}[word]
        if not good or (word == "new" and self.atomic):
            size = "no file" if content is None else f"{len(content)} bytes"
            return f"status {status}, record: target {word!r}, {record['bytes']} bytes; found {size}"
        return None

    def named(self):
        return "--result=FOLDER/record" in self.args

    def judge_fault(self, fault, status, err, record):
        """What this fault may lead to."""
        who, call, _, error = fault
        if harmless(call, error) and status != 0:
            return f"status {status}, where that is no reason to fail: {err!r}"
        if who != "worker" or harmless(call, error):
            return None
        if self.named() and not record:
            return f"status {status}, and there is no record: {err!r}"
        if call not in VITAL or error == "EINVAL":
            return None
        if status == 0:
            return "status 0"
        if record and record["error"]["errno"] != error:
            return f"the record has the errno {record['error']['errno']}: {err!r}"
        if record and (record["outcome"] == "no-space") != (error in ("ENOSPC", "EDQUOT")):
            return f"the record says {record['outcome']}"
        return None


def feed(fd):
    rest = memoryview(STREAM)
    try:
        while rest:
            rest = rest[os.write(fd, rest[:131328]):]
    except BrokenPipeError:
        pass
    os.close(fd)


OPERATOR = ["--result=FOLDER/record", "--buffer-size=128K"]
SAVE, RESTORE = ["save", *OPERATOR], ["restore", *OPERATOR]
FORMS = [
    Form("save to a new name", [*SAVE, "TARGET"], atomic=True, old=False),
    Form("save over a file", [*SAVE, "TARGET"], atomic=True),
    Form("save --no-clobber", [*SAVE, "--no-clobber", "TARGET"], atomic=True, old=False),
    Form("save without O_TMPFILE", [*SAVE, "TARGET"], atomic=True, wrap=[sys.executable, HERE + "/no-tmpfile.py"]),
    Form("save --cache=drop", [*SAVE, "--cache=drop", "TARGET"], atomic=True),
    Form("save --in-place", [*SAVE, "--in-place", "TARGET"]),
    Form("save --fd", [*SAVE, "--fd=FD", "a name"], how="fd"),
    Form("restore", [*RESTORE, "TARGET"], save=False),
    Form("restore --cache=drop", [*RESTORE, "--cache=drop", "TARGET"], save=False),
    Form("libvirt's form, writing", ["TARGET", "1"], how="stdout", flags=os.O_DIRECT),
    Form("libvirt's form, reading", ["TARGET", "0"], save=False, how="stdin", flags=os.O_DIRECT),
    Form("libvirt's form of 2011, writing", ["TARGET", str(os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "384", "0", "0"]),
]
BASE, STREAM = "", b""


def calls_of(form):
    """{(process, call): how often}, from a run without a fault."""
    lines, counts = [], {}
    wrong = form.run([], lines)
    for line in lines:
        key = tuple(line.split())
        counts[key] = counts.get(key, 0) + 1
    return counts, wrong


def chosen(count, thorough):
    if not thorough:
        return sorted({1, count})
    if count <= 12:
        return range(1, count + 1)
    return sorted({1, 2, count // 2, count - 1, count})


class Tap:
    def __init__(self):
        self.n = self.bad = 0

    def result(self, sentence, wrong):
        self.n += 1
        self.bad += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {self.n} - {sentence}", flush=True)
        for line in wrong:
            print("# " + line.replace("\n", " ")[:600], flush=True)


def try_form(form, thorough, pool, tap):
    """thorough: the controller's calls too, which are the same in most forms."""
    calls, wrong = calls_of(form)
    tap.result(f"{form.name}: without a fault all is well", [wrong] if wrong else [])
    if wrong:
        return
    for (who, call), count in sorted(calls.items()):
        if call not in ERRORS or (who, call) in OWN_PIPE:
            continue
        full = thorough or who == "worker"
        errors = ERRORS[call] if full else ERRORS[call][:1]
        faults = [f"{who}:{call}:{n}:{e}" for n in chosen(count, full) for e in errors]
        wrong = [f"{fault}: {w}" for fault, w in zip(faults, pool.map(lambda f: form.run([f]), faults)) if w]
        tap.result(f"{form.name}: {who}'s {call} fails: the account is true ({len(faults)} faults)", wrong)
    unknown = sorted({call for _, call in calls} - set(ERRORS) - QUIET)
    tap.result(f"{form.name}: each of its calls is in the matrix", [" ".join(unknown)] if unknown else [])


def main():
    global BASE, STREAM
    if SANITIZED:
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", "")
    if subprocess.run([FAULT, "--", "/bin/true"], check=False).returncode != 0:
        if os.environ.get("IOH_NO_SKIP") == "1":
            print("not ok 1 - calls can be made to fail here\n1..1")
            return 1
        print("1..0 # SKIP this system lets no call be made to fail")
        return 0
    BASE = tempfile.mkdtemp(prefix="t-", dir=os.environ.get("TMPDIR", BUILD))
    tap, only = Tap(), sys.argv[1:]
    try:
        STREAM = subprocess.run([FAKE_VM, "write", "--kind=qemu", "--size=3145805"], stdout=subprocess.PIPE,
                                check=True).stdout
        with concurrent.futures.ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            for i, form in enumerate(FORMS):
                if not only or form.name in only:
                    try_form(form, i in (0, 7), pool, tap)
    finally:
        shutil.rmtree(BASE, ignore_errors=True)
    print(f"1..{tap.n}")
    return 1 if tap.bad else 0


if __name__ == "__main__":
    sys.exit(main())
