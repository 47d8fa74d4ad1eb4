#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-shim-io.sh - the fault injector of other tests: it cuts what it may, says
# so, leaves alone what must not be cut, and corrupts nothing by itself.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON"
[ -r "$SHIM_IO" ] || bail_out "'$SHIM_IO' is not there"

"$PYTHON" -c 'import sys
open(sys.argv[1], "wb").write(bytes(i * 7 % 251 for i in range(65536)))' "$T/pristine"

# Runs lines of Python with the shim; f is a file of 64 KiB open for both, p and
# q the ends of a pipe with 100 bytes in it; the last line is an expression whose
# value has to be the last argument.
value ()
{
  local sentence=$1 want=$2 code=$3
  shift 3
  cp "$T/pristine" "$T/file"
  # Unbuffered, Python would take no notice of its own short writes.
  is "$sentence" "$(shim PYTHONUNBUFFERED= "$@" "$PYTHON" -c '
import mmap, os, socket, sys
path = os.environ["T"] + "/file"
f = os.open(path, os.O_RDWR)
p, q = os.pipe()
for _ in range(100):
    os.write(q, b"x")
def direct():
    return os.open(path, os.O_RDWR | os.O_DIRECT)
m = mmap.mmap(-1, 65536)
code = sys.argv[1].strip().split("\n")
exec("\n".join(code[:-1]))
print(eval(code[-1]))' "$code" 2>&1)" "$want"
}

while read -r name call; do
  value "$name is cut to 7 bytes" 7 "$call" SHIM_MAX=7
done << 'END'
read len(os.read(f, 100))
pread len(os.pread(f, 100, 5))
readv os.readv(f, [bytearray(3), bytearray(9)])
preadv os.preadv(f, [bytearray(3), bytearray(9)], 5)
preadv2 os.preadv(f, [bytearray(3), bytearray(9)], 5, os.RWF_HIPRI)
write os.write(f, bytes(100))
pwrite os.pwrite(f, bytes(100), 5)
writev os.writev(f, [bytes(3), bytes(9)])
pwritev os.pwritev(f, [bytes(3), bytes(9)], 5)
pwritev2 os.pwritev(f, [bytes(3), bytes(9)], 5, os.RWF_SYNC)
a-pipe's-read len(os.read(p, 100))
sendfile os.sendfile(q, f, 0, 100)
copy_file_range os.copy_file_range(f, f, 100, 0, 4096)
END
if "$PYTHON" -c 'import os; os.splice' 2> "$T/err"; then
  value "splice is cut to 7 bytes" 7 'os.splice(p, f, 100)' SHIM_MAX=7
else
  skip "splice is cut to 7 bytes" "this Python knows no splice"
fi
value "a stream socket's read is cut" 7 'a, b = socket.socketpair(); b.send(bytes(50))
len(os.read(a.fileno(), 100))' SHIM_MAX=7
value "a message is never cut" 50 'a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
os.write(b.fileno(), bytes(50))' SHIM_MAX=7
value "a character device is left alone" 100 'len(os.read(os.open("/dev/zero", os.O_RDONLY), 100))' SHIM_MAX=7
value "a read of less than that is not cut" 6 'len(os.read(f, 6))' SHIM_MAX=7
value "without a limit nothing is cut" 100 'len(os.read(f, 100))'
value "what is read is the file's" True 'b = os.read(f, 100) + os.read(f, 100)
b == bytes(i * 7 % 251 for i in range(14))' SHIM_MAX=7
value "what is written stays in order" "b'abcdefghijklm'" 'os.lseek(f, 0, 0); os.writev(f, [b"abc", b"defgzzz"])
os.writev(f, [b"hij", b"klm"])
os.pread(f, 7, 0) + os.pread(f, 6, 7)' SHIM_MAX=7

# ---- O_DIRECT

if "$PYTHON" -c 'import os, sys; os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT)' "$T/file" 2> "$T/err"; then
  value "with O_DIRECT a read is cut to whole sectors" 3584 'os.readv(direct(), [m])' SHIM_MAX=4095
  value "with O_DIRECT a read is never cut below a sector" 512 'os.readv(direct(), [m])' SHIM_MAX=1
  value "with O_DIRECT a write is cut to whole sectors" 3584 'os.pwrite(direct(), m, 4096)' SHIM_MAX=4095
  value "with O_DIRECT larger sectors can be asked for" 4096 'os.readv(direct(), [m])' SHIM_MAX=5000 SHIM_ALIGN=4096
  value "with O_DIRECT any count can be asked for" "(4095, 4095)" 'd = direct(); n = os.write(d, m)
(n, os.lseek(d, 0, 1))' SHIM_MAX=4095 SHIM_UNALIGNED=1
  value "with O_DIRECT a read of any count gives its bytes" True 'd = direct(); n = os.readv(d, [m])
n == 4095 and m[:n] == bytes(i * 7 % 251 for i in range(n)) and os.lseek(d, 0, 1) == n' SHIM_MAX=4095 SHIM_UNALIGNED=1
else
  skip "with O_DIRECT transfers are cut to whole sectors" "no O_DIRECT in $T"
fi

# ---- interruptions, and the log

rm -f "$T/log"
value "interrupted calls are tried again by Python" "b'\x00\x07\x0e'" \
  'os.pread(f, 1, 0) + os.pread(f, 1, 1) + os.pread(f, 1, 2)' SHIM_EINTR=3 SHIM_LOG="$T/log"
check "the log names interrupted calls" grep -qx 'eintr pread[0-9]*' "$T/log"
is "the log names no short call when none was cut" "$(grep -c short "$T/log")" 0
rm -f "$T/log"
value "reads that are cut are counted" 0 'for i in range(5): os.preadv(f, [bytearray(9)], 0)
0' SHIM_MAX=7 SHIM_LOG="$T/log"
is "the log has a line for each call that was cut" "$(grep -c '^short preadv' "$T/log")" 5
rm -f "$T/log"
value "every second call may be interrupted" 100 'len(os.read(f, 100))' SHIM_EINTR=1 SHIM_LOG="$T/log"

for faults in SHIM_MAX=1 "SHIM_MAX=4095 SHIM_EINTR=2" "SHIM_MAX=777 SHIM_EINTR=3"; do
  rm -f "$T/log"
  # shellcheck disable=SC2086
  shim $faults SHIM_LOG="$T/log" "$FAKE_VM" write --kind=qemu --size=100001 \
    | shim $faults SHIM_LOG="$T/log" "$FAKE_VM" check --kind=qemu --size=100001 > "$T/out" 2>&1
  is "a stream passes a pipe with $faults at both ends" "$(cat "$T/out")" "fake-vm: ok 100001 bytes"
  check "the producer had $faults" grep -q '^short writev' "$T/log"
  check "the consumer had $faults" grep -q '^short .*read' "$T/log"
done
# shellcheck disable=SC2086
shim SHIM_MAX=4095 "$FAKE_VM" write --chunk=1M --die-at=50001 2>/dev/null > "$T/s"
is "a producer dies at its offset in short writes too" "$(stat -c %s "$T/s")" 50001

done_testing
