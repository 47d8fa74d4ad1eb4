#!/usr/bin/python3 -B
# SPDX-License-Identifier: LGPL-2.1-or-later
"""iohelper in the place of libvirt's own helper, under a real libvirtd: run
by "make check-libvirt".

One domain goes through all cases.  Each image is walked to its last byte,
each restored guest has to count on without gap and to verify all of its
pattern; after each case no helper may be left.  A case that fails takes its
domain with it; the next one boots another.

tests/v-libvirt.py REGEX runs the cases whose names match."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                'vm'))
import guest                                                    # noqa: E402
import libvirtd                                                 # noqa: E402
import private                                                  # noqa: E402
import qmp                                                      # noqa: E402
import tap                                                      # noqa: E402
from libvirtbench import BYPASS, DOMAIN, MIB, PAGE, Bench       # noqa: E402

NO_SPACE = 'No space left on device'

bench = None


# ---- saved and restored -----------------------------------------------------

def save_round(save_options=(), restore_options=(), content_bytes=0):
    bench.fresh(content_bytes)
    bench.did('save', DOMAIN, bench.file, *save_options)
    if BYPASS in save_options:
        bench.is_uncached()
    bench.whole_image('libvirt')
    private.drop_cache(bench.file)
    # Without the option it depends on libvirt's version.
    bench.did('restore', bench.file, *restore_options,
              helped=BYPASS in restore_options or None)
    if BYPASS in restore_options:
        bench.is_uncached()
    bench.domain.goes_on()


@tap.case
def save_plain():
    """A domain saved and restored goes on with intact memory"""
    save_round()


@tap.case
def save_bypass():
    """A domain saved and restored with --bypass-cache goes on with intact
    memory, and the page cache stays clean"""
    save_round((BYPASS,), (BYPASS,))


@tap.case
def save_plain_restore_bypass():
    """An image saved through the page cache is restored with --bypass-cache"""
    save_round((), (BYPASS,))


@tap.case
def save_over_longer():
    """A save over a longer file leaves exactly the new image"""
    save_round(content_bytes=2 * guest.MEMORY_MIB * MIB)


@tap.case
def save_bypass_over_longer():
    """A save with --bypass-cache over a longer file leaves exactly the new
    image"""
    save_round((BYPASS,), (BYPASS,), 2 * guest.MEMORY_MIB * MIB)


@tap.case
def restore_paused():
    """The XML of an image saved with --bypass-cache can be read, and a
    domain restored paused goes on when resumed"""
    bench.fresh()
    bench.did('save', DOMAIN, bench.file, BYPASS)
    xml = bench.did('save-image-dumpxml', bench.file, helped=False)
    tap.true('no domain in the XML', f'<name>{DOMAIN}</name>' in xml)
    bench.did('restore', bench.file, '--paused', BYPASS)
    tap.equal('state', bench.domain.state(), 'paused')
    bench.did('resume', DOMAIN, helped=False)
    bench.domain.goes_on()


def managed_round(*options):
    bench.fresh()
    bench.did('managedsave', DOMAIN, *options)
    if options:
        bench.is_uncached(bench.domain.managed)
    bench.whole_image('libvirt', bench.domain.managed)
    bench.did('start', DOMAIN, *options, helped=bool(options) or None)
    tap.true('the managed image is still there',
             not os.path.exists(bench.domain.managed))
    bench.domain.goes_on()


@tap.case
def managed_save():
    """A domain after managedsave and start goes on with intact memory"""
    managed_round()


@tap.case
def managed_save_bypass():
    """A domain after managedsave and start with --bypass-cache goes on with
    intact memory, and the page cache stays clean"""
    managed_round(BYPASS)


def dumped(kind, *options):
    bench.fresh()
    bench.did('dump', DOMAIN, bench.file, *options)
    if BYPASS in options:
        bench.is_uncached()
    bench.whole_image(kind)
    bench.domain.goes_on()


@tap.case
def dump():
    """A dump is whole, and the domain goes on"""
    dumped('qemu')


@tap.case
def dump_bypass():
    """A dump with --bypass-cache is whole and not in the page cache, and the
    domain goes on"""
    dumped('qemu', BYPASS)


@tap.case
def dump_live():
    """A dump of a domain that keeps running is whole"""
    dumped('qemu', '--live', BYPASS)


@tap.case
def dump_memory():
    """A memory-only dump is a whole core, and the domain goes on"""
    dumped('elf', '--memory-only')


@tap.case
def dump_memory_bypass():
    """A memory-only dump with --bypass-cache is a whole core and not in the
    page cache, and the domain goes on"""
    dumped('elf', '--memory-only', BYPASS)


# ---- failures ---------------------------------------------------------------

def out_of_space(kind, room, *arguments):
    """The user reads why, no partial file stays, the domain goes on."""
    with private.SmallFs(bench.work, kind, room) as small:
        text = bench.refused(*(small.file if a == 'FILE' else a
                               for a in arguments))
        tap.true(f'the reason is missing in: {text}', NO_SPACE in text)
        bench.clean()
        tap.equal('the full file system', small.files(), [])
    if bench.domain.state() == 'paused':
        bench.did('resume', DOMAIN, helped=False)
    bench.domain.goes_on()


@tap.case
def no_space():
    """Where a save finds no space the user reads so, no partial file stays,
    and the domain goes on"""
    bench.fresh()
    out_of_space('tmpfs', 64 * MIB, 'save', DOMAIN, 'FILE')


@tap.case
def no_space_bypass():
    """Where a save with --bypass-cache finds no space on ext4 the user reads
    so, no partial file stays, and the domain goes on"""
    if not os.access('/dev/loop-control', os.R_OK | os.W_OK):
        raise tap.Skip('no loop devices may be used here')
    bench.fresh()
    out_of_space('ext4', 64 * MIB, 'save', DOMAIN, 'FILE', BYPASS)


@tap.case
def no_space_memory():
    """Where a memory-only dump finds no space the user reads so, no partial
    file stays, and the domain goes on"""
    bench.fresh()
    out_of_space('tmpfs', 64 * MIB, 'dump', DOMAIN, 'FILE', '--memory-only')


@tap.case
def no_space_for_the_last_page():
    """Where only the last page of an image finds no space the save fails all
    the same, the user reads why, and the domain goes on"""
    bench.fresh()
    bench.did('suspend', DOMAIN, helped=False)
    # A guest that does not run between two saves gives images of one size,
    # but for the first after it ran.
    for _ in range(2):
        bench.did('save', DOMAIN, bench.file)
        bench.did('restore', bench.file, '--paused', helped=None)
    room = (os.path.getsize(bench.file) - 1) // PAGE * PAGE
    os.unlink(bench.file)
    out_of_space('tmpfs', room, 'save', DOMAIN, 'FILE')


def killed(which, *arguments):
    bench.fresh()
    job = bench.daemon.start(*arguments)
    pids = bench.helper_midway()
    os.kill(pids[which], signal.SIGKILL)
    bench.resume_helper(pids)
    text = bench.lost(job)
    tap.true('no reason is given', 'error:' in text)


@tap.case
def helper_killed():
    """A save whose helper is killed by SIGKILL fails, no partial file stays,
    and the domain goes on"""
    killed(0, 'save', DOMAIN, bench.file, BYPASS)


@tap.case
def helper_last_killed():
    """A save fails as well where the last process of the helper is killed"""
    killed(-1, 'save', DOMAIN, bench.file)


@tap.case
def helper_killed_dump():
    """A memory-only dump whose helper is killed by SIGKILL fails, no partial
    file stays, and the domain goes on"""
    killed(0, 'dump', DOMAIN, bench.file, '--memory-only')


def aborted(*options):
    bench.fresh()
    job = bench.daemon.start('save', DOMAIN, bench.file, *options)
    pids = bench.helper_midway()
    done = bench.daemon.virsh('domjobabort', DOMAIN)
    tap.true(f'domjobabort: {done.stderr}', done.returncode == 0)
    bench.resume_helper(pids)
    bench.lost(job)


@tap.case
def job_aborted():
    """A save aborted by domjobabort while its helper is stopped fails, no
    partial file stays, and the domain goes on"""
    aborted()


@tap.case
def job_aborted_bypass():
    """A save with --bypass-cache aborted while its helper is stopped fails,
    no partial file stays, and the domain goes on"""
    aborted(BYPASS)


def damaged_image(damage):
    """The user reads QEMU's own reason for refusing a damaged image, which
    is then mended and restored."""
    bench.fresh()
    bench.did('save', DOMAIN, bench.file, BYPASS)
    with open(bench.file, 'rb') as f:
        good = f.read()
    with open(bench.file, 'r+b') as f:
        damage(f, len(good))
    text = bench.refused('restore', bench.file, BYPASS)
    tap.true(f'QEMU\'s reason is missing in: {text}',
             'load of migration failed' in text)
    bench.clean()
    tap.true('a failed restore has removed the image',
             os.path.exists(bench.file))
    with open(bench.file, 'wb') as f:
        f.write(good)
    bench.did('restore', bench.file, BYPASS)
    bench.domain.goes_on()


@tap.case
def truncated():
    """The user reads QEMU's own reason when a truncated image is restored"""
    damaged_image(lambda f, size: f.truncate(size // 2 + 1))


@tap.case
def corrupt():
    """The user reads QEMU's own reason when a corrupt image is restored,
    though its helper finds the pipe closed"""
    def damage(f, _size):
        f.seek(20 * MIB + 5)
        f.write(b'\xff' * 16 * PAGE)

    damaged_image(damage)


def main():
    global bench
    try:
        private.need('libvirtd', 'virsh', qmp.QEMU, 'unshare', 'fincore',
                     'mount', 'mkfs.ext4')
        if os.geteuid() != 0:
            raise guest.Unobtainable('libvirtd of the system needs root')
        private.helper_path()
        libvirtd.stock_helper()
        guest.prepare(private.work_root())
        private.enter()
    except guest.Unobtainable as e:
        tap.skip_all(str(e))
    bench = Bench()
    status = tap.run(after=bench.clean, failed=bench.failed)
    bench.domain.forget()
    bench.daemon.process.terminate()
    bench.daemon.process.wait(30)
    return status


if __name__ == '__main__':
    sys.exit(main())
