# SPDX-License-Identifier: LGPL-2.1-or-later
"""Walks a VM state file by its own structure, to its very last byte.

A QEMU stream is read section by section; the lengths of device sections come
from the JSON description at its end, and description and sections must agree.
A libvirt image is a header and XML before such a stream.  An ELF core must
end exactly where the last of its segments and sections ends.

Invariant: it shares no code with the program under test, and a file that is
one byte short, one byte long or shifted anywhere raises Broken.  Guest pages
count only with their own CRC intact."""
import json
import mmap
import struct
import zlib

PAGE = 4096
PAGE_MAGIC = b'iohguest'

EOF, START, PART, END, FULL = 0, 1, 2, 3, 4
SUBSECTION, DESCRIPTION, CONFIGURATION, FOOTER = 5, 6, 7, 0x7e

# Flags in the low bits of a RAM record's address.
RAM_ZERO, RAM_SIZES, RAM_PAGE, RAM_EOS, RAM_CONTINUE = 2, 4, 8, 0x10, 0x20

LIBVIRT_MAGIC = b'LibvirtQemudSave'
LIBVIRT_PARTIAL = b'LibvirtQemudPart'
LIBVIRT_HEADER = 92             # bytes
PT_LOAD, SHT_NOBITS = 1, 8


class Broken(AssertionError):
    """The file is not whole; says where."""


class Cursor:
    """A place in the file that only moves forward, and never past its end."""

    def __init__(self, data, at=0):
        self.data = data
        self.at = at

    def take(self, count):
        start, self.at = self.at, self.at + count
        if self.at > len(self.data):
            raise Broken(f'cut off inside the {count} bytes at {start}')
        return self.data[start:self.at]

    def numbers(self, layout):
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def byte(self):
        return self.take(1)[0]

    def u32(self):
        return self.numbers('>I')[0]

    def name(self):
        return self.take(self.byte()).decode('ascii')

    def expect(self, value, what):
        found = self.byte()
        if found != value:
            raise Broken(f'{what} at {self.at - 1} is {found:#x}, '
                         f'not {value:#x}')


class Pages:
    """The numbers of the guest's pattern pages found so far."""

    def __init__(self):
        self.found = set()

    def look(self, page):
        if page[:8] == PAGE_MAGIC:
            number, = struct.unpack_from('<Q', page, 8)
            want, = struct.unpack_from('<Q', page, PAGE - 8)
            if zlib.crc32(page[:PAGE - 8]) == want:
                self.found.add(number)


def _description(data):
    """The JSON at the end and where its section begins."""
    low = max(0, len(data) - (4 << 20))
    at = len(data)
    while (at := data.rfind(bytes((EOF, DESCRIPTION)), low, at + 1)) >= 0:
        if at + 6 <= len(data):
            length, = struct.unpack_from('>I', data, at + 2)
            if at + 6 + length == len(data):
                return json.loads(data[at + 6:]), at
    raise Broken('no VM description that reaches exactly to the end')


def _ram_section(cursor, pages):
    while True:
        address, = cursor.numbers('>Q')
        flags = address & (PAGE - 1)
        if flags & RAM_EOS:
            return
        if flags & RAM_SIZES:
            left = address - flags
            while left > 0:
                cursor.name()
                left -= cursor.numbers('>Q')[0]
            continue
        if not flags & RAM_CONTINUE:
            cursor.name()
        kind = flags & ~RAM_CONTINUE
        if kind == RAM_ZERO:
            cursor.expect(0, 'the fill byte of a zero page')
        elif kind == RAM_PAGE:
            pages.look(cursor.take(PAGE))
        else:
            raise Broken(f'unknown RAM flags {flags:#x} at {cursor.at - 8}')


def _fields_bytes(fields):
    return sum(f['size'] * f.get('array_len', 1) for f in fields)


def _device(cursor, described):
    """The content of one device's section, as far as it is described."""
    cursor.take(_fields_bytes(described.get('fields', ())))
    for sub in described.get('subsections', ()):
        cursor.expect(SUBSECTION, 'the subsection mark')
        name = cursor.name()
        if name != sub['vmsd_name']:
            raise Broken(f'subsection {name}, described as '
                         f'{sub["vmsd_name"]}')
        cursor.u32()
        _device(cursor, sub)


def _configuration(cursor, end):
    cursor.take(cursor.u32())
    # Its subsections describe nothing to us, but the next section does.
    while cursor.data[cursor.at] == SUBSECTION:
        cursor.byte()
        name = cursor.name()
        cursor.u32()
        if name == 'configuration/target-page-bits':
            cursor.u32()
        elif name == 'configuration/capabilities':
            for _ in range(cursor.u32()):
                cursor.name()
        elif name == 'configuration/uuid':
            cursor.take(16)
        else:
            raise Broken(f'unknown {name} at {cursor.at}')
    if cursor.at > end:
        raise Broken('the configuration reaches into the description')


def walk_qemu(data, at, pages):
    description, end = _description(data)
    devices = iter(description['devices'])
    cursor = Cursor(data, at)
    if cursor.numbers('>4sI') != (b'QEVM', 3):
        raise Broken(f'no QEMU stream at {at}')
    names = {}
    count = 0
    while (kind := cursor.byte()) != EOF:
        if kind == CONFIGURATION:
            _configuration(cursor, end)
            continue
        section = cursor.u32()
        if kind in (START, FULL):
            names[section] = cursor.name()
            cursor.numbers('>II')
        elif kind not in (PART, END):
            raise Broken(f'unknown section {kind:#x} at {cursor.at - 5}')
        if kind == FULL:
            described = next(devices, None)
            if not described or described['name'] != names[section]:
                raise Broken(f'{names[section]} is not described')
            _device(cursor, described)
            count += 1
        elif names.get(section) == 'ram':
            _ram_section(cursor, pages)
        else:
            raise Broken(f'section {section} is not RAM at {cursor.at}')
        cursor.expect(FOOTER, 'the footer')
        if cursor.u32() != section:
            raise Broken(f'the footer at {cursor.at} is of another section')
    if next(devices, None) is not None:
        raise Broken('a described device has no section')
    if cursor.at - 1 != end:
        raise Broken(f'the stream ends at {cursor.at - 1}, '
                     f'the description begins at {end}')
    return {'devices': count, 'description_at': end}


def walk_libvirt(data, pages):
    if data[:16] == LIBVIRT_PARTIAL:
        raise Broken('the image is marked incomplete')
    version, xml_bytes, running, compressed, _ = struct.unpack_from(
        '<5I', data, 16)
    xml = Cursor(data, LIBVIRT_HEADER).take(xml_bytes)
    if not xml.lstrip().startswith(b'<domain'):
        raise Broken('no domain XML after the header')
    if compressed:
        raise Broken('compressed: cannot be walked')
    result = walk_qemu(data, LIBVIRT_HEADER + xml_bytes, pages)
    return {**result, 'version': version, 'was_running': running}


def walk_elf(data, pages):
    phoff, shoff = struct.unpack_from('<QQ', data, 32)
    phsize, phnum, shsize, shnum = struct.unpack_from('<4H', data, 54)
    end = 0
    for i in range(phnum):
        kind, _, offset, _, _, size = struct.unpack_from(
            '<IIQQQQ', data, phoff + i * phsize)
        end = max(end, offset + size)
        if kind == PT_LOAD:
            for at in range(offset, min(offset + size, len(data)), PAGE):
                pages.look(data[at:at + PAGE])
    for i in range(shnum if shoff else 0):
        kind, _, _, offset, size = struct.unpack_from(
            '<IQQQQ', data, shoff + i * shsize + 4)
        if kind != SHT_NOBITS:
            end = max(end, offset + size)
    if end != len(data):
        raise Broken(f'the last part ends at {end}, the file at {len(data)}')
    return {'segments': phnum}


def walk(path):
    """What kind of file it is, its size, and the pattern pages in it."""
    pages = Pages()
    with open(path, 'rb') as f, \
         mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as data:
        try:
            if data[:12] == LIBVIRT_MAGIC[:12]:
                kind, result = 'libvirt', walk_libvirt(data, pages)
            elif data[:4] == b'QEVM':
                kind, result = 'qemu', walk_qemu(data, 0, pages)
            elif data[:4] == b'\x7fELF':
                kind, result = 'elf', walk_elf(data, pages)
            else:
                raise Broken(f'unknown magic {data[:16]!r}')
        except (struct.error, IndexError, KeyError, ValueError) as e:
            raise Broken(f'{type(e).__name__}: {e}') from e
        return {'kind': kind, 'bytes': len(data), 'pages': pages.found,
                **result}
