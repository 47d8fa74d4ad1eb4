# SPDX-License-Identifier: LGPL-2.1-or-later
"""The test guest: its kernel and initrd, and what it says on its serial line.

The kernel is taken out of Debian's package without installing it, the initrd
holds one program (guest-init.c).  Both are kept in the work directory, so the
package is fetched once for a build directory.

Invariant: a SerialLog never forgives. One wrong page, one tick missing or
repeated, or a second boot makes every later look at it fail."""
import os
import re
import stat
import subprocess
import tarfile
import tempfile

import wait

KERNEL_PACKAGE = 'linux-image-cloud-amd64'
MEMORY_MIB = 256
PATTERN_MIB = 96
PATTERN_PAGES = PATTERN_MIB * 256
COMMAND_LINE = (f'console=ttyS0 quiet panic=-1 PATTERN_MIB={PATTERN_MIB} '
                'TICK_MS=50')


class Unobtainable(Exception):
    """The guest cannot be made here; says why."""


def _run(argv, **how):
    try:
        return subprocess.run(argv, check=True, capture_output=True,
                              text=True, **how).stdout
    except OSError as e:
        raise Unobtainable(f'cannot run {argv[0]}: {e.strerror}') from e
    except subprocess.TimeoutExpired as e:
        raise Unobtainable(f'{" ".join(argv[:2])} takes too long') from e
    except subprocess.CalledProcessError as e:
        reason = (e.stderr.strip().splitlines() or ['no message'])[-1]
        raise Unobtainable(f'{" ".join(argv[:2])}: {reason}') from e


def _kernel_package():
    # The package named above is empty and depends on the real one.
    for line in _run(['apt-cache', 'depends', KERNEL_PACKAGE]).splitlines():
        if line.strip().startswith('Depends: linux-image-'):
            return line.split()[1]
    raise Unobtainable(f'apt knows no kernel behind {KERNEL_PACKAGE}')


def _replace(path, data):
    """Nobody sees a part of it, not even a second run at the same time."""
    fd, new = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(fd, 'wb') as f:
        f.write(data)
    os.rename(new, path)


def _unpack_kernel(deb):
    with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb],
                          stdout=subprocess.PIPE) as unpack, \
         tarfile.open(fileobj=unpack.stdout, mode='r|') as archive:
        for member in archive:
            if os.path.basename(member.name).startswith('vmlinuz-'):
                kernel = archive.extractfile(member).read()
                unpack.kill()       # the rest of it is of no use
                return kernel
    raise Unobtainable(f'no kernel in {os.path.basename(deb)}')


def _fetch_kernel(path):
    package = _kernel_package()
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as directory:
        _run(['apt-get', 'download', package], cwd=directory, timeout=300)
        deb, = os.listdir(directory)
        _replace(path, _unpack_kernel(os.path.join(directory, deb)))


def _cpio(entries):
    """The "newc" archive that the kernel unpacks: (name, mode, rdev, data)."""
    def padded(b):
        return b + bytes(-len(b) % 4)

    archive = b''
    for inode, (name, mode, rdev, data) in enumerate(entries, 1):
        name = name.encode() + b'\0'
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0,
                  os.major(rdev), os.minor(rdev), len(name), 0)
        head = b'070701' + b''.join(b'%08X' % f for f in fields)
        archive += padded(head + name) + padded(data)
    return archive


def _make_initrd(init, path):
    with open(init, 'rb') as f:
        program = f.read()
    entries = (('dev', stat.S_IFDIR | 0o755, 0, b''),
               ('dev/console', stat.S_IFCHR | 0o600, os.makedev(5, 1), b''),
               ('init', stat.S_IFREG | 0o755, 0, program),
               ('TRAILER!!!', 0, 0, b''))
    _replace(path, _cpio(entries))


def prepare(work):
    """Make what is missing of the guest; returns (kernel, initrd)."""
    init = os.environ.get('GUEST_INIT')
    if not init or not os.access(init, os.R_OK):
        raise Unobtainable('GUEST_INIT does not name the built guest-init')
    kernel = os.environ.get('GUEST_KERNEL') or os.path.join(work, 'vmlinuz')
    initrd = os.path.join(work, 'initrd')
    os.makedirs(work, exist_ok=True)
    if not os.path.exists(kernel):
        _fetch_kernel(kernel)
    _make_initrd(init, initrd)
    return kernel, initrd


class SerialLog:
    """What one guest has said, over all the QEMUs that it has lived in."""

    def __init__(self, path, before=b''):
        self.path = path
        self.before = before

    def text(self):
        try:
            with open(self.path, 'rb') as f:
                return self.before + f.read()
        except FileNotFoundError:
            return self.before

    def ticks(self):
        """The last tick of a guest that has been whole so far."""
        text = self.text().replace(b'\r', b'')
        if b'guest: no memory' in text or b'BAD' in text:
            raise AssertionError('guest memory is wrong: '
                                 + _tail(text[:text.find(b'BAD') + 60]))
        if text.count(b'guest: ready') > 1:
            raise AssertionError('the guest has booted again')
        numbers = [int(n) for n in re.findall(rb'guest: tick (\d+) ok\n',
                                              text)]
        for i, n in enumerate(numbers, 1):
            if n != i:
                raise AssertionError(f'tick {n} where {i} was due: the '
                                     'guest lost or repeated time')
        return len(numbers)

    def goes_on(self, more=2, seconds=60, died=None):
        """Wait until the guest has counted on and verified its memory."""
        goal = self.ticks() + more

        def reached():
            if died is not None and died():
                raise AssertionError('QEMU has ended under the guest')
            return self.ticks() >= goal

        wait.until(reached, seconds, lambda: 'the guest stands still: '
                   + _tail(self.text()))
        return self.ticks()


def _tail(text):
    return repr(text[-160:].decode(errors='replace'))
