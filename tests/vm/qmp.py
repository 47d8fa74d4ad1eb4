# SPDX-License-Identifier: LGPL-2.1-or-later
"""A QEMU of the test's own, driven over QMP.

The monitor is one end of a socket pair that QEMU inherits, so there is no
path to collide with and descriptors can be handed over.

Invariant: every wait has a deadline, and a QEMU that goes away is reported
with its own last words."""
import array
import json
import os
import socket
import subprocess

import guest
import wait

QEMU = 'qemu-system-x86_64'
ANSWER_S = 30
ENDED = ('completed', 'failed', 'cancelled')


class Gone(Exception):
    """QEMU has ended; says what it wrote on stderr."""


class Refused(Exception):
    """QEMU has answered a command with an error."""


class Monitor:
    """One QMP connection: commands, and the events that came meanwhile."""

    def __init__(self, sock):
        self.sock = sock
        self.pending = b''
        self.events = []
        self._receive()
        self.command('qmp_capabilities')

    def _receive(self):
        while b'\n' not in self.pending:
            data = self.sock.recv(65536)
            if not data:
                raise EOFError
            self.pending += data
        line, self.pending = self.pending.split(b'\n', 1)
        return json.loads(line)

    def command(self, name, fds=(), **arguments):
        named = {k.replace('_', '-'): v for k, v in arguments.items()}
        message = json.dumps({'execute': name, 'arguments': named}).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                   array.array('i', fds))] if fds else []
        self.sock.sendmsg([message + b'\n'], rights)
        while True:
            answer = self._receive()
            if 'event' in answer:
                self.events.append(answer)
            elif 'error' in answer:
                raise Refused(f'{name}: {answer["error"]["desc"]}')
            else:
                return answer['return']


class Qemu:
    """One QEMU process with the test guest in it."""

    count = 0

    def __init__(self, work, image, incoming=None, serial=None, pass_fds=()):
        Qemu.count += 1
        kernel, initrd = image
        base = os.path.join(work, f'qemu-{Qemu.count}')
        self.serial = guest.SerialLog(base + '.serial',
                                      serial.text() if serial else b'')
        self.stderr_path = base + '.stderr'
        ours, theirs = socket.socketpair()
        ours.settimeout(ANSWER_S)
        argv = [QEMU, '-name', 'iohelper-test', '-M', 'pc', '-accel', 'tcg',
                '-m', str(guest.MEMORY_MIB), '-nodefaults', '-no-user-config',
                '-no-reboot', '-display', 'none', '-kernel', kernel,
                '-initrd', initrd, '-append', guest.COMMAND_LINE,
                '-chardev', f'file,id=line,path={self.serial.path},append=on',
                '-device', 'isa-serial,chardev=line',
                '-chardev', f'socket,id=qmp,fd={theirs.fileno()}',
                '-mon', 'chardev=qmp,mode=control']
        if incoming:
            argv += ['-incoming', incoming]
        with theirs, open(self.stderr_path, 'wb') as stderr:
            self.process = subprocess.Popen(
                argv, cwd=work, stdin=subprocess.DEVNULL, stdout=stderr,
                stderr=stderr, pass_fds=(theirs.fileno(), *pass_fds))
        self.sock = ours
        self.monitor = None
        try:
            self.monitor = Monitor(ours)
        except (EOFError, OSError):
            pass                # an incoming QEMU may end at once

    def words(self):
        """What QEMU, and a helper that shares its stderr, have written."""
        with open(self.stderr_path, encoding='utf-8', errors='replace') as f:
            return f.read()

    def ended(self):
        return self.process.poll() is not None

    def command(self, name, fds=(), **arguments):
        if self.monitor is None:
            raise Gone(self.words())
        try:
            return self.monitor.command(name, fds, **arguments)
        except (EOFError, BrokenPipeError, ConnectionResetError) as e:
            raise Gone(self.words()) from e

    def status(self):
        return self.command('query-status')['status']

    def hand_over(self, fd, name):
        """Give QEMU a descriptor under a name; ours is closed."""
        self.command('getfd', (fd,), fdname=name)
        os.close(fd)

    def stop(self):
        self.command('stop')

    def resume(self):
        self.command('cont')

    def migration(self):
        return self.command('query-migrate')

    def transferred(self):
        return self.migration().get('ram', {}).get('transferred', 0)

    def start_migration(self, uri, bytes_per_second=1 << 60):
        self.command('migrate-set-parameters', max_bandwidth=bytes_per_second)
        self.command('migrate', uri=uri)

    def migration_end(self, seconds=60):
        """The word that the migration ended with."""
        return wait.until(lambda: [s for s in [self.migration()['status']]
                                   if s in ENDED], seconds,
                          'the migration does not end')[0]

    def migrate(self, uri):
        self.start_migration(uri)
        return self.migration_end()

    def arrived(self, seconds=60):
        """Wait until an incoming QEMU has its state."""
        wait.until(lambda: self.status() != 'inmigrate', seconds,
                   'the incoming migration does not end')

    def loaded(self):
        """Wait for the state, then let it run."""
        self.arrived()
        if self.status() != 'running':
            self.resume()

    def exit_status(self, seconds=60):
        """The status of a QEMU that ends by itself."""
        wait.until(self.ended, seconds, 'QEMU does not end')
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait(ANSWER_S)
        self.sock.close()
