# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the cases of v-qemu.py share: one guest, one FILE, one record, and
the checks that more than one case makes.

Invariant: a case finds no file, no record and no helper of an earlier one."""
import json
import os
import signal
import subprocess

import guest
import private
import qmp
import tap
import wait
import walkstream

MIB = 1 << 20
PAGE = 4096
# Slow enough that a save lasts for seconds: something can happen to it.
SLOW_BYTES_PER_S = 24 * MIB
MIDWAY_BYTES = 30 * MIB
ALL_PAGES = set(range(guest.PATTERN_PAGES))


class Bench:
    def __init__(self):
        self.iohelper = private.helper_path()
        self.image = guest.prepare(private.work_root())
        self.work = private.work_directory('qemu')
        self.files = os.path.join(self.work, 'files')
        os.mkdir(self.files)
        self.file = os.path.join(self.files, 'vm.sav')
        self.record_file = os.path.join(self.work, 'record')
        self.vm = None

    # ---- the guest and the helper

    def running(self):
        """A guest that runs; the one of the last case if it is well."""
        if self.vm is None or self.vm.ended():
            self.vm = qmp.Qemu(self.work, self.image)
            self.vm.serial.goes_on(2)
        elif self.vm.status() != 'running':
            self.vm.resume()
        return self.vm

    def stopped(self):
        vm = self.running()
        vm.stop()
        return vm

    def next_life(self, incoming, pass_fds=()):
        """Kill the guest's QEMU and bring it back in another."""
        old = self.vm
        old.serial.ticks()
        old.kill()
        self.vm = qmp.Qemu(self.work, self.image, incoming, old.serial,
                           pass_fds)
        return self.vm

    def forget(self):
        if self.vm is not None:
            tap.diag(self.vm.words())
            self.vm.kill()
            self.vm = None

    def failed(self):
        """Leave nothing of a failed case to the next one."""
        for pid in private.processes_of(self.iohelper):
            os.kill(pid, signal.SIGKILL)
        self.forget()

    def fresh(self):
        """No file, no record, no helper."""
        private.all_gone(self.iohelper)
        for path in [self.record_file] + [os.path.join(self.files, n)
                                          for n in os.listdir(self.files)]:
            if os.path.exists(path):
                os.unlink(path)

    def put_old_content(self):
        old = b'the last good image\n' * 300000
        with open(self.file, 'wb') as f:
            f.write(old)
        return old

    def _uri(self, verb, options, path):
        return ' '.join(['exec:exec', self.iohelper, verb,
                         f'--result={self.record_file}', *options,
                         path or self.file])

    def save_uri(self, *options, path=None):
        return self._uri('save', options, path)

    def restore_uri(self, *options, path=None):
        return self._uri('restore', options, path)

    def start_helper(self, argv, **how):
        with open(os.path.join(self.work, 'helper.stderr'), 'wb') as stderr:
            return subprocess.Popen([self.iohelper, *argv], stderr=stderr,
                                    **how)

    def slow_save(self, uri, wait_for=MIDWAY_BYTES):
        """A save that has begun and cannot end soon."""
        vm = self.running()
        vm.start_migration(uri, SLOW_BYTES_PER_S)
        wait.until(lambda: vm.transferred() > wait_for, 30,
                   'the save does not begin')
        tap.true('no helper runs', private.processes_of(self.iohelper))
        return vm

    # ---- checks

    def saved(self, uri):
        tap.equal('migration', self.vm.migrate(uri), 'completed')

    def goes_on(self):
        self.vm.serial.goes_on(2, died=self.vm.ended)

    def record(self):
        wait.until(lambda: os.path.exists(self.record_file), 10,
                   'no record was written')
        with open(self.record_file, encoding='utf-8') as f:
            return json.load(f)

    def whole_image(self):
        found = walkstream.walk(self.file)
        tap.equal('kind', found['kind'], 'qemu')
        tap.true('pattern pages are missing in the image',
                 found['pages'] == ALL_PAGES)
        return found

    def nothing_committed(self, old=None):
        """FILE is as it was, and there is nothing beside it."""
        private.all_gone(self.iohelper)
        tap.equal('the directory', os.listdir(self.files),
                  [os.path.basename(self.file)] if old else [])
        if old:
            with open(self.file, 'rb') as f:
                tap.true('FILE has lost its old content', f.read() == old)

    def is_committed(self, size):
        record = self.record()
        tap.equal('outcome', record['outcome'], 'committed')
        tap.equal('exit_status', record['exit_status'], 0)
        tap.equal('evidence', record['evidence'], 'format')
        tap.equal('format', record['format'], 'qemu')
        tap.equal('bytes', record['bytes'], size)
        tap.equal('target', record['target'], 'new')
        tap.equal('error', record['error'], None)
        return record

    def is_cut_short(self):
        record = self.record()
        tap.equal('outcome', record['outcome'], 'truncated')
        tap.equal('exit_status', record['exit_status'], 3)
        tap.equal('target', record['target'], 'untouched')

    def is_uncached(self, cached):
        if private.on_disk(self.files):
            tap.true(f'{cached} bytes are cached', cached <= MIB)
