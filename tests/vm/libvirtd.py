# SPDX-License-Identifier: LGPL-2.1-or-later
"""A libvirtd of the test's own, with the program under test as its helper.

Works only inside private.enter(): libvirt's directories, two account files
and its helper are covered by bind mounts that nobody else sees.

Invariant: the machine's own libvirt, running or not, is neither used nor
changed; covering ends with the namespace."""
import os
import subprocess

import guest
import wait

DOMAIN = 'iohelper-test'
HELPERS = ('/usr/lib/libvirt/libvirt_iohelper',
           '/usr/libexec/libvirt_iohelper',
           '/usr/lib64/libvirt/libvirt_iohelper')
COVERED = ('/etc/libvirt', '/var/lib/libvirt', '/var/log/libvirt',
           '/var/cache/libvirt', '/run/libvirt')
ACCOUNT = 'libvirt-qemu'
URI = 'qemu:///system'

DAEMON_CONF = '''auth_unix_ro = "none"
auth_unix_rw = "none"
log_level = 3
log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
'''
QEMU_CONF = '''user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
cgroup_controllers = []
namespaces = []
seccomp_sandbox = 0
stdio_handler = "file"
save_image_format = "raw"
dump_image_format = "raw"
'''
DOMAIN_XML = '''<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>{memory}</memory>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
    <kernel>{kernel}</kernel>
    <initrd>{initrd}</initrd>
    <cmdline>{cmdline}</cmdline>
  </os>
  <features><acpi/></features>
  <on_reboot>destroy</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
    <serial type='file'><source path='{serial}' append='on'/></serial>
  </devices>
</domain>
'''


def stock_helper():
    for path in HELPERS:
        if os.path.exists(path):
            return path
    raise guest.Unobtainable('libvirt\'s own helper is not installed')


def _mount(*argv):
    subprocess.run(['mount', *argv], check=True, capture_output=True)


def _write(path, text):
    with open(path, 'w', encoding='ascii') as f:
        f.write(text)


class Libvirtd:
    """The daemon, and virsh to talk to it."""

    def __init__(self, work, helper):
        self.work = work
        self.root = os.path.join(work, 'root')
        self._cover(helper)
        _write('/etc/libvirt/libvirtd.conf', DAEMON_CONF)
        _write('/etc/libvirt/qemu.conf', QEMU_CONF)
        self.output = os.path.join(work, 'libvirtd.output')
        with open(self.output, 'wb') as out:
            self.process = subprocess.Popen(
                ['libvirtd', '-f', '/etc/libvirt/libvirtd.conf',
                 '-p', '/run/libvirt/libvirtd.pid'],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        wait.until(self._answers, 60, self._why_not)

    def _cover(self, helper):
        # The old one still shows the devices of the outer network.
        _mount('-t', 'sysfs', 'sysfs', '/sys')
        for path in COVERED:
            ours = self.root + path
            os.makedirs(ours)
            os.makedirs(path, exist_ok=True)
            _mount('--bind', ours, path)
        # libvirtd asks for this account even where it has no use for it.
        accounts = {'passwd': f'{ACCOUNT}:x:64055:64055::/:/bin/false',
                    'group': f'{ACCOUNT}:x:64055:'}
        for name, line in accounts.items():
            with open(f'/etc/{name}', encoding='utf-8') as f:
                text = f.read()
            if f'\n{ACCOUNT}:' not in text:
                ours = os.path.join(self.root, name)
                with open(ours, 'w', encoding='utf-8') as f:
                    f.write(text.rstrip('\n') + f'\n{line}\n')
                _mount('--bind', ours, f'/etc/{name}')
        _mount('--bind', helper, stock_helper())

    def _answers(self):
        if self.process.poll() is not None:
            raise AssertionError('libvirtd has ended: ' + self.log())
        return self.virsh('version').returncode == 0

    def _why_not(self):
        return 'libvirtd does not answer: ' + self.log()

    def log(self):
        text = ''
        for path in (self.output, '/var/log/libvirt/libvirtd.log'):
            if os.path.exists(path):
                with open(path, encoding='utf-8', errors='replace') as f:
                    text += f.read()[-2000:]
        return text

    def argv(self, *arguments):
        return ['virsh', '-q', '-c', URI, *arguments]

    def virsh(self, *arguments, seconds=90):
        return subprocess.run(self.argv(*arguments), capture_output=True,
                              text=True, stdin=subprocess.DEVNULL,
                              timeout=seconds)

    def start(self, *arguments):
        """virsh in the background."""
        return subprocess.Popen(self.argv(*arguments), text=True,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)


class Domain:
    """The test guest as libvirt's domain."""

    def __init__(self, daemon, image):
        self.daemon = daemon
        self.image = image
        self.serial = guest.SerialLog(os.path.join(daemon.work, 'serial'))
        self.managed = f'/var/lib/libvirt/qemu/save/{DOMAIN}.save'

    def virsh(self, *arguments):
        return self.daemon.virsh(*arguments)

    def state(self):
        return self.virsh('domstate', DOMAIN).stdout.strip()

    def forget(self):
        self.virsh('destroy', DOMAIN)
        self.virsh('undefine', DOMAIN, '--managed-save')

    def running(self):
        """The domain runs: the one there is, or a new one."""
        state = self.state()
        if state == 'paused':
            self.virsh('resume', DOMAIN)
        elif state != 'running':
            self.boot()
        return self

    def boot(self):
        self.forget()
        if os.path.exists(self.serial.path):
            os.unlink(self.serial.path)
        kernel, initrd = self.image
        path = os.path.join(self.daemon.work, 'domain.xml')
        _write(path, DOMAIN_XML.format(
            name=DOMAIN, memory=guest.MEMORY_MIB, kernel=kernel,
            initrd=initrd, cmdline=guest.COMMAND_LINE,
            serial=self.serial.path))
        for arguments in (('define', path), ('start', DOMAIN)):
            done = self.virsh(*arguments)
            if done.returncode:
                raise AssertionError(done.stderr + self.daemon.log())
        self.serial.goes_on(2)

    def goes_on(self):
        if self.state() != 'running':
            raise AssertionError(f'the domain is {self.state()}, not running')
        self.serial.goes_on(2, died=lambda: self.state() == 'shut off')
