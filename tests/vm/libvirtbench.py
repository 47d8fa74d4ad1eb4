# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the cases of v-libvirt.py share: the daemon, the domain, the images,
and the helper caught at work.

Invariant: after a good case the domain runs and no helper is left."""
import ctypes
import os
import signal

import guest
import libvirtd
import private
import tap
import wait
import walkstream

MIB = 1 << 20
PAGE = 4096
MIDWAY_BYTES = 16 * MIB
BYPASS = '--bypass-cache'
ALL_PAGES = set(range(guest.PATTERN_PAGES))
DOMAIN = libvirtd.DOMAIN


class Executions:
    """Tells whether a program has been executed since the last look."""

    IN_OPEN = 0x20

    def __init__(self, program):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0 or libc.inotify_add_watch(
                self.fd, program.encode(), self.IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), 'inotify')

    def any(self):
        try:
            return bool(os.read(self.fd, 65536))
        except BlockingIOError:
            return False


class Bench:
    def __init__(self):
        self.iohelper = private.helper_path()
        image = guest.prepare(private.work_root())
        self.work = private.work_directory('libvirt')
        self.files = os.path.join(self.work, 'files')
        os.mkdir(self.files)
        self.file = os.path.join(self.files, 'vm.sav')
        self.executions = Executions(self.iohelper)
        self.daemon = libvirtd.Libvirtd(self.work, self.iohelper)
        self.domain = libvirtd.Domain(self.daemon, image)

    def fresh(self, content_bytes=0):
        """A running domain, and no image or one of another content."""
        self.domain.running()
        for name in os.listdir(self.files):
            os.unlink(os.path.join(self.files, name))
        if content_bytes:
            with open(self.file, 'wb') as f:
                f.truncate(content_bytes)
        self.executions.any()

    def clean(self):
        """What has to hold after each case."""
        private.all_gone(self.iohelper)

    def failed(self):
        """Leave nothing of a failed case to the next one."""
        tap.diag(self.daemon.log())
        for pid in private.processes_of(self.iohelper):
            os.kill(pid, signal.SIGKILL)
        self.domain.forget()

    # ---- virsh

    def did(self, *arguments, helped=True):
        """virsh succeeds, by way of our helper (True), without it (False)
        or as it likes (None)."""
        done = self.daemon.virsh(*arguments)
        tap.true(f'virsh {arguments[0]}: {done.stderr.strip()}',
                 done.returncode == 0)
        used = self.executions.any()
        if helped is not None:
            tap.equal('use of the helper', used, helped)
        return done.stdout

    def refused(self, *arguments):
        """virsh fails; its error text."""
        done = self.daemon.virsh(*arguments)
        tap.true(f'virsh {arguments[0]} succeeded', done.returncode != 0)
        tap.true('no helper ran', self.executions.any())
        tap.diag(done.stderr.strip())
        return done.stderr

    def lost(self, job):
        """A virsh in the background fails and leaves no file; its text."""
        _, text = job.communicate(timeout=60)
        tap.diag(text.strip())
        tap.true('the job succeeded', job.returncode != 0)
        self.clean()
        tap.equal('the directory', os.listdir(self.files), [])
        self.domain.goes_on()
        return text

    # ---- images

    def whole_image(self, kind, path=None):
        found = walkstream.walk(path or self.file)
        tap.equal('kind', found['kind'], kind)
        tap.true('pattern pages are missing in the image',
                 found['pages'] == ALL_PAGES)

    def is_uncached(self, path=None):
        """To be asked before the image is walked, which caches it."""
        if private.on_disk(self.files):
            cached = private.cached_bytes(path or self.file)
            tap.true(f'{cached} bytes are cached', cached <= MIB)

    def _size(self):
        try:
            return os.path.getsize(self.file)
        except FileNotFoundError:
            return 0

    # ---- the helper at work

    def _stop_helper(self):
        """Stop all its processes, and those that they made meanwhile."""
        stopped = set()
        while new := set(private.processes_of(self.iohelper)) - stopped:
            for pid in sorted(new):
                os.kill(pid, signal.SIGSTOP)
            stopped |= new
        tap.true('the helper ended before it could be stopped', stopped)
        return sorted(stopped)

    @staticmethod
    def resume_helper(pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass

    def helper_midway(self):
        """Let the helper move some MiB in small steps, then hold it; its
        pids, the first one's first."""
        wait.until(lambda: private.processes_of(self.iohelper), 30,
                   'no helper was started', 0.001)
        while True:
            pids = self._stop_helper()
            before = self._size()
            if before >= MIDWAY_BYTES:
                return pids
            self.resume_helper(pids)
            wait.until(lambda: self._size() > before or
                       not private.processes_of(self.iohelper), 30,
                       'the helper stands still', 0.001)
