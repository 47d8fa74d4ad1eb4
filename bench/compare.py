#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""compare.py - iohelper beside what people use today, in one run.

A fake VM writes the same stream through a pipe to each contender in turn; the
order is reversed from round to round, the target is removed and the file
system synced before each, so that nobody profits from another's work.  Prints
medians of seconds and of the relay's CPU seconds, and their ratio to the first
contender of each sink; --json=FILE keeps all the runs.

  python3 bench/compare.py --iohelper=PATH --fake-vm=PATH [--dir=DIR]
                           [--size=1G] [--rounds=5] [--kind=qemu] [--json=FILE]
"""
import argparse
import fcntl
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

STOCK = "/usr/lib/libvirt/libvirt_iohelper"
F_SETPIPE_SZ = 1031


def contenders(iohelper, sink):
    """(name, argv of the relay, how its stdout is opened) for a sink."""
    direct = sink == "direct"
    yield "stock", [STOCK, "{}", "1"], direct
    yield "iohelper-libvirt", [iohelper, "{}", "1"], direct
    if sink != "null":
        cache = "direct" if direct else "keep"
        yield "iohelper-save", [iohelper, "save", "--in-place", f"--cache={cache}", "--sync=data", "{}"], None
    yield "cat", ["cat"], False
    flags = ["oflag=direct"] if direct else []
    sync = ["conv=fdatasync"] if sink != "null" else []
    yield "dd", ["dd", "bs=1M", "iflag=fullblock", "status=none", "of={}"] + flags + sync, None
    if shutil.which("pv"):
        yield "pv", ["pv", "-q"], False
    if shutil.which("mbuffer"):
        yield "mbuffer", ["mbuffer", "-q", "-m", "64M", "-o", "{}"] + (["-f"] if sink != "null" else []), None


def cpu(who):
    usage = os.wait4(who, 0)
    if usage[1] != 0:
        raise SystemExit(f"a process ended with wait status {usage[1]}")
    return usage[2].ru_utime + usage[2].ru_stime


def run(argv, stdout_direct, target, producer, sink):
    """One relay.  Wall seconds to durable data, and CPU seconds of the relay."""
    if target != "/dev/null" and os.path.exists(target):
        os.unlink(target)
    os.sync()
    argv = [a.replace("{}", target) for a in argv]
    stdout = subprocess.DEVNULL
    if stdout_direct is not None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | (os.O_DIRECT if stdout_direct and target != "/dev/null" else 0)
        stdout = os.open(target, flags, 0o600)
    elif argv[0].endswith("iohelper"):
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600))
    reader, writer = os.pipe()
    fcntl.fcntl(writer, F_SETPIPE_SZ, 1 << 20)
    began = time.monotonic()
    relay = subprocess.Popen(argv, stdin=reader, stdout=stdout)
    source = subprocess.Popen(producer, stdout=writer)
    os.close(reader)
    os.close(writer)
    seconds = cpu(relay.pid)
    relay.returncode = 0
    if sink != "null" and argv[0] in ("cat", "pv", "mbuffer"):
        fd = os.open(target, os.O_RDONLY)
        os.fdatasync(fd)
        os.close(fd)
    wall = time.monotonic() - began
    if source.wait() != 0:
        raise SystemExit("the producer failed")
    if isinstance(stdout, int) and stdout >= 0:
        os.close(stdout)
    return wall, seconds


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iohelper", required=True)
    p.add_argument("--fake-vm", required=True)
    p.add_argument("--dir", default=".")
    p.add_argument("--size", default="1G")
    p.add_argument("--kind", default="qemu")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--json")
    o = p.parse_args()
    if not os.access(STOCK, os.X_OK):
        sys.exit(f"{STOCK} is missing: install libvirt-daemon")
    iohelper = os.path.abspath(o.iohelper)
    producer = [os.path.abspath(o.fake_vm), "write", "--preload", f"--kind={o.kind}", f"--size={o.size}"]
    head = {"date": time.strftime("%Y-%m-%d"), "kernel": platform.release(), "cpus": os.cpu_count(),
            "directory": subprocess.run(["findmnt", "-no", "FSTYPE,OPTIONS", "-T", o.dir], capture_output=True, text=True).stdout.strip(),
            "size": o.size, "kind": o.kind, "rounds": o.rounds}
    print(json.dumps(head))
    everything = {"head": head, "runs": []}
    for sink in ("null", "buffered", "direct"):
        target = "/dev/null" if sink == "null" else os.path.join(os.path.abspath(o.dir), "bench-target")
        names = list(contenders(iohelper, sink))
        times = {name: [] for name, _, _ in names}
        for n in range(o.rounds + 1):       # the first round warms up and does not count
            for name, argv, how in names if n % 2 else reversed(names):
                wall, seconds = run(argv, how, target, producer, sink)
                if n:
                    times[name].append((wall, seconds))
                    everything["runs"].append({"sink": sink, "name": name, "seconds": wall, "cpu": seconds})
        base = [statistics.median(t[i] for t in times["stock"]) for i in (0, 1)]
        print(f"\n{sink:10s} {'':18s} {'seconds':>8s} {'speed':>7s} {'cpu s':>8s} {'cpu':>7s}")
        for name, _, _ in names:
            wall, seconds = (statistics.median(t[i] for t in times[name]) for i in (0, 1))
            print(f"{'':10s} {name:18s} {wall:8.3f} {base[0] / wall:6.2f}x {seconds:8.3f} {seconds / base[1]:6.2f}x")
        if target != "/dev/null":
            os.unlink(target)
    if o.json:
        with open(o.json, "w", encoding="ascii") as f:
            json.dump(everything, f, indent=1)


main()
