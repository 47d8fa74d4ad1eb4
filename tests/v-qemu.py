#!/usr/bin/python3 -B
# SPDX-License-Identifier: LGPL-2.1-or-later
"""iohelper under a real QEMU, without libvirt: run by "make check-qemu".

One guest goes through all cases.  Each save is walked to its last byte, each
restored guest has to count on without gap and to verify all of its pattern.
A case that fails takes its guest with it; the next one boots another.

tests/v-qemu.py REGEX runs the cases whose names match."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                'vm'))
import guest                                                    # noqa: E402
import private                                                  # noqa: E402
import qmp                                                      # noqa: E402
import tap                                                      # noqa: E402
import walkstream                                               # noqa: E402
from qemubench import ALL_PAGES, MIB, MIDWAY_BYTES, PAGE, Bench  # noqa: E402

# libvirt's own: no PATH, this one variable.
LIBVIRT_ENV = {'LIBVIRT_LOG_OUTPUTS': '1:stderr'}

bench = None


# ---- saved and restored -----------------------------------------------------

def exec_round(*options, live=False):
    """Both records, and how much of the image was in the page cache."""
    vm = bench.running()
    if not live:
        vm.stop()
    bench.saved(bench.save_uri(*options))
    cached = private.cached_bytes(bench.file)   # before we read it ourselves
    found = bench.whole_image()
    saved = bench.is_committed(found['bytes'])
    os.unlink(bench.record_file)
    bench.next_life(bench.restore_uri(*options)).loaded()
    bench.goes_on()
    restored = bench.record()
    tap.equal('restore', restored['outcome'], 'delivered')
    tap.equal('bytes delivered', restored['bytes'], found['bytes'])
    return saved, restored, cached


@tap.case
def exec_default():
    """A guest saved and restored by exec: with no options goes on with
    intact memory, and the page cache holds none of its image"""
    bench.fresh()
    bench.is_uncached(exec_round()[2])


@tap.case
def exec_direct():
    """A guest saved and restored by exec: with --cache=direct goes on with
    intact memory, both records say direct"""
    if not private.on_disk(bench.files):
        raise tap.Skip('the build directory is not on a disk')
    bench.fresh()
    saved, restored, cached = exec_round('--cache=direct')
    tap.equal('cache of the save', saved['cache'], 'direct')
    tap.equal('cache of the restore', restored['cache'], 'direct')
    bench.is_uncached(cached)


@tap.case
def exec_keep():
    """A guest saved and restored by exec: with --cache=keep goes on with
    intact memory, and its image stays in the page cache"""
    bench.fresh()
    saved, restored, cached = exec_round('--cache=keep')
    tap.equal('cache of the save', saved['cache'], 'keep')
    tap.equal('cache of the restore', restored['cache'], 'keep')
    if private.on_disk(bench.files):
        tap.true(f'only {cached} bytes are cached', cached > 64 * MIB)


@tap.case
def exec_live_over_longer():
    """A guest saved while it runs, over a longer file, goes on with intact
    memory, and the file ends where the stream ends"""
    bench.fresh()
    with open(bench.file, 'wb') as f:
        f.truncate(guest.MEMORY_MIB * 2 * MIB)
    exec_round(live=True)


def fd_save(argv, **how):
    """Save through a pipe of ours into a helper; its exit status."""
    vm = bench.stopped()
    r, w = os.pipe()
    helper = bench.start_helper(argv, stdin=r, **how)
    os.close(r)
    vm.hand_over(w, 'stream')
    bench.saved('fd:stream')
    return helper.wait(60)


def fd_restore(argv, **how):
    r, w = os.pipe()
    helper = bench.start_helper(argv, stdout=w, **how)
    os.close(w)
    vm = bench.next_life(f'fd:{r}', (r,))
    os.close(r)
    vm.loaded()
    tap.equal('exit status of the restore', helper.wait(60), 0)
    bench.goes_on()


@tap.case
def fd_round():
    """A guest saved and restored by fd: through pipes to "iohelper save" and
    "iohelper restore" goes on with intact memory"""
    bench.fresh()
    result = f'--result={bench.record_file}'
    status = fd_save(['save', result, bench.file], stdout=subprocess.DEVNULL)
    tap.equal('exit status of the save', status, 0)
    bench.is_committed(bench.whole_image()['bytes'])
    fd_restore(['restore', result, bench.file], stdin=subprocess.DEVNULL)
    tap.equal('restore', bench.record()['outcome'], 'delivered')


def libvirt_round(direct):
    """FILE and descriptor as libvirt passes them: FILE is a name, no more."""
    bench.fresh()
    no_file = os.path.join(bench.work, 'no', 'such', 'file')
    how = {'env': LIBVIRT_ENV, 'cwd': '/'}
    fd = os.open(bench.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | direct,
                 0o600)
    status = fd_save([no_file, '1'], stdout=fd, **how)
    os.close(fd)
    tap.equal('exit status of the save', status, 0)
    cached = private.cached_bytes(bench.file)   # before we read it ourselves
    bench.whole_image()
    fd = os.open(bench.file, os.O_RDONLY | direct)
    fd_restore([no_file, '0'], stdin=fd, **how)
    os.close(fd)
    return cached


@tap.case
def libvirt_form():
    """A guest saved by "iohelper /FILE 1" and restored by "iohelper /FILE 0"
    goes on with intact memory"""
    libvirt_round(0)


@tap.case
def libvirt_form_direct():
    """The same with descriptors that have O_DIRECT leaves nothing in the
    page cache"""
    if not private.on_disk(bench.files):
        raise tap.Skip('the build directory is not on a disk')
    bench.is_uncached(libvirt_round(os.O_DIRECT))


# ---- failures ---------------------------------------------------------------

def stream_bytes():
    """The size of the stream that the guest's next save will have.  It is
    known only of a guest that does not run in between: one that is restored
    twice from one image, and not resumed."""
    bench.stopped()
    bench.saved(bench.save_uri())
    out = os.path.join(bench.work, 'size')
    bench.next_life(bench.restore_uri()).arrived()
    bench.saved(f'exec:wc -c >{out}')
    bench.next_life(bench.restore_uri()).arrived()
    private.all_gone(bench.iohelper)
    os.unlink(bench.record_file)
    with open(out, encoding='ascii') as f:
        return int(f.read())


def out_of_space(fs):
    record = bench.record()
    tap.equal('outcome', record['outcome'], 'no-space')
    tap.equal('exit_status', record['exit_status'], 9)
    tap.equal('errno', record['error']['errno'], 'ENOSPC')
    tap.equal('target', record['target'], 'untouched')
    private.all_gone(bench.iohelper)
    tap.equal('the full file system', fs.files(), [])
    bench.vm.resume()
    bench.goes_on()


@tap.case
def no_space_at_the_end():
    """Where the last page finds no space QEMU says completed, but the record
    says no-space, FILE does not exist, and the guest goes on when resumed"""
    bench.fresh()
    room = (stream_bytes() - 1) // PAGE * PAGE
    with private.SmallFs(bench.work, 'tmpfs', room) as fs:
        bench.saved(bench.save_uri(path=fs.file))
        out_of_space(fs)


@tap.case
def no_space_midway():
    """Where ext4 runs out of space midway QEMU says failed, the record says
    no-space, FILE does not exist, and the guest goes on when resumed"""
    if not os.access('/dev/loop-control', os.R_OK | os.W_OK):
        raise tap.Skip('no loop devices may be used here')
    bench.fresh()
    vm = bench.stopped()
    with private.SmallFs(bench.work, 'ext4', 64 * MIB) as fs:
        tap.equal('migration', vm.migrate(bench.save_uri(path=fs.file)),
                  'failed')
        out_of_space(fs)


@tap.case
def cancelled_exec():
    """migrate_cancel in the middle of a save by exec: leaves no file and a
    record that says truncated, and the guest goes on"""
    bench.fresh()
    vm = bench.slow_save(bench.save_uri())
    vm.command('migrate_cancel')
    tap.equal('migration', vm.migration_end(), 'cancelled')
    bench.nothing_committed()
    bench.is_cut_short()
    bench.goes_on()


@tap.case
def cancelled_fd():
    """migrate_cancel in the middle of a save by fd: leaves the old file, and
    the helper exits 3"""
    bench.fresh()
    old = bench.put_old_content()
    vm = bench.running()
    r, w = os.pipe()
    helper = bench.start_helper(
        ['save', f'--result={bench.record_file}', bench.file], stdin=r)
    os.close(r)
    vm.hand_over(w, 'stream')
    bench.slow_save('fd:stream')
    vm.command('migrate_cancel')
    tap.equal('migration', vm.migration_end(), 'cancelled')
    tap.equal('exit status', helper.wait(30), 3)
    bench.nothing_committed(old)
    bench.is_cut_short()
    bench.goes_on()


@tap.case
def helper_killed():
    """A helper killed by SIGKILL in the middle of a save leaves the old file
    and no record, QEMU says failed, and the guest goes on"""
    bench.fresh()
    old = bench.put_old_content()
    vm = bench.slow_save(bench.save_uri())
    os.kill(private.processes_of(bench.iohelper)[0], signal.SIGKILL)
    tap.equal('migration', vm.migration_end(), 'failed')
    bench.nothing_committed(old)
    tap.true('a killed helper has written a record',
             not os.path.exists(bench.record_file))
    bench.goes_on()


@tap.case
def worker_killed():
    """A helper whose worker process is killed by SIGKILL in the middle of a
    save leaves the old file and a record that says failed"""
    bench.fresh()
    old = bench.put_old_content()
    vm = bench.slow_save(bench.save_uri())
    _, worker = private.processes_of(bench.iohelper)
    os.kill(worker, signal.SIGKILL)
    tap.equal('migration', vm.migration_end(), 'failed')
    bench.nothing_committed(old)
    if os.path.exists(bench.record_file):   # QEMU may have killed it first
        tap.equal('outcome', bench.record()['outcome'], 'failed')
    bench.goes_on()


@tap.case
def qemu_killed():
    """QEMU killed by SIGKILL in the middle of a save, early and late, leaves
    the old file, and the record says truncated"""
    for offset in (1, MIDWAY_BYTES):
        bench.fresh()
        old = bench.put_old_content()
        bench.slow_save(bench.save_uri(), offset).kill()
        bench.nothing_committed(old)
        bench.is_cut_short()


def refused_image(damage):
    """QEMU fed with a damaged copy of an image says why it ends; the size of
    the copy."""
    bench.fresh()
    vm = bench.stopped()
    bench.saved(bench.save_uri())
    found = bench.whole_image()
    damaged = bench.file + '.damaged'
    shutil.copyfile(bench.file, damaged)
    with open(damaged, 'r+b') as f:
        damage(f, found)
    os.unlink(bench.record_file)
    victim = qmp.Qemu(bench.work, bench.image,
                      bench.restore_uri(path=damaged))
    tap.true('QEMU took the image', victim.exit_status() != 0)
    tap.diag(victim.words())
    tap.true('QEMU\'s own reason is not to be seen: ' + victim.words(),
             'load of migration failed' in victim.words())
    private.all_gone(bench.iohelper)
    vm.resume()
    bench.goes_on()
    return os.path.getsize(damaged)


@tap.case
def truncated_in_memory():
    """QEMU's own error is visible when an image cut inside the memory is
    restored"""
    refused_image(lambda f, found: f.truncate(found['bytes'] // 2 + 1))


@tap.case
def truncated_in_devices():
    """QEMU's own error is visible when an image cut inside the last device
    is restored"""
    refused_image(lambda f, found: f.truncate(found['description_at'] - 8))


@tap.case
def corrupt():
    """QEMU's own error is visible when a corrupt image is restored, and the
    record says consumer-closed"""
    def damage(f, _found):
        f.seek(20 * MIB + 5)
        f.write(b'\xff' * 16 * PAGE)

    size = refused_image(damage)
    record = bench.record()
    tap.equal('outcome', record['outcome'], 'consumer-closed')
    tap.equal('exit_status', record['exit_status'], 5)
    tap.true(f'{record["bytes"]} bytes of {size} were delivered',
             20 * MIB < record['bytes'] < size)


@tap.case
def walker_sees():
    """The walk that judges images notices a byte or a page lost, added or
    changed"""
    bench.fresh()
    bench.stopped()
    bench.saved(bench.save_uri())
    with open(bench.file, 'rb') as f:
        good = f.read()
    # The magic alone is in the guest's program as well.
    page = walkstream.PAGE_MAGIC + (guest.PATTERN_PAGES // 2).to_bytes(
        8, 'little')
    at = good.index(page) + 100
    flipped = bytes((good[at] ^ 1,))
    edits = {'a byte short': good[:-1], 'a byte long': good + b'\0',
             'a byte lost': good[:at] + good[at + 1:],
             'a byte more': good[:at] + b'\0' + good[at:],
             'a page lost': good[:at] + good[at + 8 + PAGE:],
             'a flipped byte': good[:at] + flipped + good[at + 1:]}
    for what, data in edits.items():
        with open(bench.file, 'wb') as f:
            f.write(data)
        try:
            pages = walkstream.walk(bench.file)['pages']
        except walkstream.Broken:
            continue
        # These two leave the structure as it is.
        tap.true(f'{what} is not seen', pages != ALL_PAGES
                 and what in ('a page lost', 'a flipped byte'))
    with open(bench.file, 'wb') as f:
        f.write(good)
    bench.whole_image()


def main():
    global bench
    try:
        private.need(qmp.QEMU, 'unshare', 'fincore', 'mount', 'mkfs.ext4')
        private.helper_path()
        guest.prepare(private.work_root())
        private.enter()
    except guest.Unobtainable as e:
        tap.skip_all(str(e))
    bench = Bench()
    status = tap.run(after=lambda: private.all_gone(bench.iohelper),
                     failed=bench.failed)
    bench.forget()
    return status


if __name__ == '__main__':
    sys.exit(main())
