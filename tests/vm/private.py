# SPDX-License-Identifier: LGPL-2.1-or-later
"""Namespaces, a work directory and small file systems of the test's own.

The script runs again in new mount, process and network namespaces, below a
process 1 that reaps orphans: libvirtd waits for them to disappear.  When that
ends, however it ends, the kernel kills all that was started and drops all
that was mounted.

Invariant: nothing outside the work directory is changed."""
import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import guest
import wait

_INSIDE = 'IOH_VM_TEST_INSIDE'


def work_root():
    top = os.environ.get('top_builddir', '.')
    return os.path.abspath(os.path.join(top, 'tests', 'vm-work'))


def helper_path():
    path = os.environ.get('IOHELPER')
    if not path or not os.access(path, os.X_OK):
        raise guest.Unobtainable('IOHELPER does not name the built program')
    return os.path.realpath(path)


def need(*programs):
    for p in programs:
        if shutil.which(p) is None:
            raise guest.Unobtainable(f'{p} is not installed')


def _reap_orphans():
    """Process 1 stays here; its child goes on as the test."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return
    # Process 1 has no default actions: what it does not handle is ignored.
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(abs(os.waitstatus_to_exitcode(status)))


def enter():
    """Go on inside; returns only there."""
    if os.environ.pop(_INSIDE, None):
        _reap_orphans()
        return
    argv = ['unshare', '--mount', '--propagation', 'private', '--pid',
            '--fork', '--kill-child', '--mount-proc', '--net']
    if os.geteuid() != 0:
        argv.append('--map-root-user')
    try:
        subprocess.run(argv + ['true'], check=True, capture_output=True,
                       text=True)
    except (OSError, subprocess.CalledProcessError) as e:
        raise guest.Unobtainable('no namespaces: '
                                 + str(getattr(e, 'stderr', e)).strip()) from e
    os.environ[_INSIDE] = '1'
    sys.stdout.flush()
    os.execvp(argv[0], argv + [sys.executable, '-B', *sys.argv])


def work_directory(name):
    """A fresh directory on the build disk, removed at exit."""
    root = work_root()
    os.makedirs(root, exist_ok=True)
    path = tempfile.mkdtemp(prefix=name + '.', dir=root)
    if not os.environ.get('KEEP'):
        atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


class SmallFs:
    """A mounted file system with little room; a context manager."""

    def __init__(self, work, kind, size_bytes):
        self.path = os.path.join(work, f'small-{kind}')
        self.file = os.path.join(self.path, 'vm.sav')
        self.image = self.path + '.img'
        self.kind = kind
        self.size_bytes = size_bytes

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        if self.kind == 'tmpfs':
            argv = ['mount', '-t', 'tmpfs', '-o', f'size={self.size_bytes}',
                    'tmpfs', self.path]
        else:
            with open(self.image, 'wb') as f:
                f.truncate(self.size_bytes)
            subprocess.run(['mkfs.' + self.kind, '-q', '-m', '0', self.image],
                           check=True, capture_output=True)
            # The kernel frees the loop device with the mount.
            argv = ['mount', '-o', 'loop', self.image, self.path]
        subprocess.run(argv, check=True, capture_output=True)
        return self

    def __exit__(self, *_):
        subprocess.run(['umount', '-l', self.path], check=True)
        if self.kind != 'tmpfs':
            os.unlink(self.image)

    def files(self):
        return [n for n in os.listdir(self.path) if n != 'lost+found']


def cached_bytes(path):
    """How much of the file the page cache holds."""
    out = subprocess.run(['fincore', '-b', '-n', '-o', 'RES', path],
                         check=True, capture_output=True, text=True).stdout
    return int(out or 0)


def drop_cache(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def on_disk(directory):
    """False where there is no page cache apart from the storage."""
    out = subprocess.run(['stat', '-f', '-c', '%T', directory], check=True,
                         capture_output=True, text=True).stdout.strip()
    return out not in ('tmpfs', 'ramfs')


def processes_of(program):
    """The pids that run a program, by the file itself and not by its name:
    it may be mounted over another.  A zombie is none."""
    wanted = os.stat(program)
    found = []
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                exe = os.stat(f'/proc/{entry}/exe')
            except OSError:
                continue
            if (exe.st_dev, exe.st_ino) == (wanted.st_dev, wanted.st_ino):
                found.append(int(entry))
    return sorted(found)


def all_gone(program, seconds=10):
    wait.until(lambda: not processes_of(program), seconds,
               lambda: f'processes left over: {processes_of(program)}')
