#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""fds.py - runs a command with descriptors that a shell cannot make.

  fds.py [--report=FILE] N=WHAT[,FLAG...]... -- COMMAND...

WHAT is one of
  PATH     that file; flags are open(2)'s (wronly, rdwr, creat, trunc, append,
           direct, nonblock ...; rdonly without any) and at=OFFSET
  pipe<PATH, socket<PATH    the end of a pipe or stream socket that gives PATH's
                            bytes, at a slow pace with "slow"
  pipe>PATH, socket>PATH    the end of one whose bytes go to PATH
  tty      a terminal; nobody types
  closed   no descriptor at all
nonblock and direct apply to pipes and sockets too.

COMMAND gets these, and 0, 1 and 2 as they are, and no other.

Exits as COMMAND did, or with 128 + the signal.  The report has a line
"N FLAGS POSITION" for each descriptor as COMMAND left it, POSITION "-" where
there is none.
"""
import fcntl
import os
import pty
import signal
import socket
import sys
import threading
import time


def open_flags(words):
    flags = 0
    for word in words:
        if not word.startswith("at=") and word != "slow":
            flags |= getattr(os, "O_" + word.upper())
    return flags


def feed(fd, path, slow):
    """Writes PATH's bytes to FD and closes it."""
    step = 5000 if slow else 1 << 16
    try:
        with open(path, "rb") as f:
            while True:
                data = f.read(step)
                if not data:
                    break
                while data:
                    data = data[os.write(fd, data):]
                if slow:
                    time.sleep(0.005)
    except OSError:
        pass  # the reader left
    os.close(fd)


def drain(fd, path, slow):
    step = 5000 if slow else 1 << 16
    with open(path, "wb") as f:
        while True:
            try:
                data = os.read(fd, step)
            except OSError:
                break
            if not data:
                break
            f.write(data)
            if slow:
                time.sleep(0.005)
    os.close(fd)


def pair(kind):
    """Returns the end that is read and the one that is written."""
    if kind == "pipe":
        return os.pipe()
    a, b = socket.socketpair()
    return a.detach(), b.detach()


def make(what, words, threads):
    """Returns the descriptor for COMMAND."""
    slow = "slow" in words
    for kind in ("pipe", "socket"):
        for sign, work in (("<", feed), (">", drain)):
            if not what.startswith(kind + sign):
                continue
            reader, writer = pair(kind)
            ours, fd = (writer, reader) if work is feed else (reader, writer)
            threads.append(threading.Thread(
                target=work, args=(ours, what[len(kind) + 1:], slow), daemon=True))
            extra = open_flags(words)
            if extra:
                fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | extra)
            return fd
    if what == "tty":
        master, slave = pty.openpty()
        os.set_inheritable(master, False)
        return slave
    fd = os.open(what, open_flags(words), 0o600)
    for word in words:
        if word.startswith("at="):
            os.lseek(fd, int(word[3:]), os.SEEK_SET)
    return fd


def high(fd):
    """Out of the way of the numbers that COMMAND gets."""
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(fd)
    return copy


def position(fd):
    try:
        return str(os.lseek(fd, 0, os.SEEK_CUR))
    except OSError:
        return "-"


def become(command, wanted, closed):
    """In the child."""
    try:
        for number, fd in wanted.items():
            os.dup2(fd, number)
        for number in closed:
            os.close(number)
        for number in map(int, os.listdir("/proc/self/fd")):
            if number > 2 and number not in wanted:
                try:
                    os.set_inheritable(number, False)
                except OSError:
                    pass  # the one that listed
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, ("fds.py: %s\n" % error).encode())
    os._exit(126)


def main():
    args = sys.argv[1:]
    split = args.index("--")
    report, wanted, threads, closed = None, {}, [], []
    for arg in args[:split]:
        if arg.startswith("--report="):
            report = arg[9:]
            continue
        number, spec = arg.split("=", 1)
        what, *words = spec.split(",")
        if what == "closed":
            closed.append(int(number))
        else:
            wanted[int(number)] = high(make(what, words, threads))

    child = os.fork()
    if child == 0:
        become(args[split + 1:], wanted, closed)
    for thread in threads:
        thread.start()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    lines = []
    for number, fd in wanted.items():
        lines.append("%d %#o %s\n" % (number, fcntl.fcntl(fd, fcntl.F_GETFL), position(fd)))
        os.close(fd)
    for thread in threads:
        thread.join(20)
    if report:
        with open(report, "w") as f:
            f.writelines(lines)
    sys.exit(status if status >= 0 else 128 - status)


main()
