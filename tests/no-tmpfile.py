#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""no-tmpfile.py COMMAND... - runs COMMAND as on a file system without O_TMPFILE
(NFS, many FUSE ones): openat(2) with that flag fails with EOPNOTSUPP.

By a seccomp filter, so that it holds for every process that COMMAND starts.
Exits with 125 where it cannot.
"""
import ctypes
import errno
import os
import platform
import struct
import sys

O_TMPFILE = 0o20000000  # without O_DIRECTORY; the same on the machines below
MACHINES = {"x86_64": (0xC000003E, 257), "aarch64": (0xC00000B7, 56)}
LOAD, EQUAL, SET, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | errno.EOPNOTSUPP
NUMBER_AT, ARCH_AT, FLAGS_AT = 0, 4, 32  # in struct seccomp_data, low halves
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2

if platform.machine() not in MACHINES:
    sys.exit(125)
arch, openat = MACHINES[platform.machine()]
program = b"".join(struct.pack("=HBBI", *line) for line in (
    (LOAD, 0, 0, ARCH_AT),
    (EQUAL, 0, 5, arch),
    (LOAD, 0, 0, NUMBER_AT),
    (EQUAL, 0, 3, openat),
    (LOAD, 0, 0, FLAGS_AT),
    (SET, 0, 1, O_TMPFILE),
    (RETURN, 0, 0, FAIL),
    (RETURN, 0, 0, ALLOW),
))
code = ctypes.create_string_buffer(program)
fprog = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or \
        libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(fprog), 0, 0):
    sys.exit(125)
os.execvp(sys.argv[1], sys.argv[1:])
