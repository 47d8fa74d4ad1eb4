#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-fake-vm.sh - the producer and checker that other tests rely on: streams have
# the shape they claim, are the same however they are written, and no damage
# passes the checker.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON"
[ -x "$FAKE_VM" ] || bail_out "'$FAKE_VM' is not there"
export PYTHONDONTWRITEBYTECODE=1

fake () { run 60 "$FAKE_VM" "$@"; }

# $1: everything that changes the bytes; the rest is for the producer.
pipe_through ()
{
  local spec=$1
  shift
  # shellcheck disable=SC2086 # a list of options
  fake write $spec "$@" | fake check $spec
}

walk ()
{
  PYTHONPATH=$top_srcdir/tests/vm "$PYTHON" -c '
import sys, walkstream
r = walkstream.walk(sys.argv[1])
sys.exit(0 if r["kind"] == sys.argv[2] else "kind " + r["kind"])' "$@"
}

# Prints how many guest pages there are that are not zero, and how many of them
# are the same as another.
count_pages ()
{
  PYTHONPATH=$top_srcdir/tests/vm "$PYTHON" -c '
import collections, sys, walkstream
data = open(sys.argv[1], "rb").read()
pages = collections.Counter()
class Look:
    def look(self, page):
        if any(page):
            pages[bytes(page)] += 1
if data[:4] == b"QEVM":
    walkstream.walk_qemu(data, 0, Look())
elif data[:4] == b"\x7fELF":
    walkstream.walk_elf(data, Look())
else:
    for at in range(0, len(data), 4096):
        Look().look(data[at:at + 4096])
print(sum(pages.values()), sum(n - 1 for n in pages.values()))' "$1"
}

# One edit of a file: flip AT, drop AT, insert AT, swap AT AT (4 KiB each).
damage ()
{
  "$PYTHON" -c '
import sys
path, edit, at = sys.argv[1], sys.argv[2], [int(a) for a in sys.argv[3:]]
b = bytearray(open(path, "rb").read())
a = at[0]
if edit == "flip":
    b[a] ^= 1
elif edit == "drop":
    del b[a]
elif edit == "insert":
    b.insert(a, b[a - 1])
elif edit == "swap":
    n = 4096
    c = at[1]
    b[a:a + n], b[c:c + n] = b[c:c + n], b[a:a + n]
open(path, "wb").write(b)' "$@"
}

verdict ()
{
  fake check "$@" || :
}

# ---- round trips and shapes

for size in 0 1 511 512 513 4095 4097 1048575 1048577; do
  check "a plain stream of $size bytes passes a pipe" pipe_through "--size=$size"
done

for kind in qemu "libvirt --final" elf; do
  for size in 8191 8192 30000 100001 1048577 26000001; do
    spec="--kind=$kind --size=$size --seed=7"
    # shellcheck disable=SC2086
    fake write $spec > "$T/s"
    is "a stream of kind $kind has $size bytes as asked" "$(stat -c %s "$T/s")" "$size"
    check "a stream of kind $kind and $size bytes is whole by its own structure" walk "$T/s" "${kind%% *}"
    # shellcheck disable=SC2086
    check "a stream of kind $kind and $size bytes is what the checker expects" fake check $spec --file="$T/s"
  done
done

for spec in "--kind=libvirt" "--kind=libvirt --compressed" "--kind=libvirt --no-vmdesc" "--kind=qemu --no-vmdesc"; do
  check "a stream made with $spec passes a pipe" pipe_through "$spec --size=3000001"
done
for kind in plain qemu elf; do
  fake write --kind=$kind --size=14M > "$T/s"
  read -r pages same < <(count_pages "$T/s")
  check "a $kind stream of 14 MiB carries more than 2000 pages" test "$pages" -gt 2000
  is "no two pages of a $kind stream are the same" "$same" 0
done
fake write --kind=qemu --no-vmdesc --size=100000 > "$T/s"
is "a stream without description ends with a footer and the end mark" \
  "$(tail -c 6 "$T/s" | od -An -tx1 | tr -d ' ')" "7e0000000a00"
is "an unfinished image says so" "$(fake write --kind=libvirt 2> "$T/err" | head -c 16)" "LibvirtQemudPart"
is "a finished image says so" "$(fake write --kind=libvirt --final 2> "$T/err" | head -c 16)" "LibvirtQemudSave"
is "a huge stream's size is told without making it" "$(fake size --kind=qemu --size=3T)" "3298534883328"
check "the start of a huge stream is what the checker expects" \
  pipe_through "--kind=elf --size=3T --stop-at=5000001"

# ---- the same bytes, however they are written

spec="--kind=libvirt --size=2500003 --seed=3"
# shellcheck disable=SC2086
fake write $spec --chunk=1M > "$T/whole"
for how in --chunk=qemu --chunk=random --chunk=777 --chunk=4M --preload "--preload --chunk=4095" --nonblock \
  "--pace=20M" "--stall-at=1000001 --stall-ms=1"; do
  # shellcheck disable=SC2086
  fake write $spec $how 2> "$T/err" | cat > "$T/s"
  check "$how gives the same bytes" cmp "$T/whole" "$T/s"
done
fake write --kind=qemu --size=20001 --chunk=1 > "$T/s"
check "single bytes give the same bytes" fake check --kind=qemu --size=20001 --file="$T/s"
# shellcheck disable=SC2086
check "a checker that reads 7 bytes at a time accepts the stream" \
  fake check $spec --read-size=7 --file="$T/whole"

# A SOCK_SEQPACKET socket shows each write as a message of its own.
check "QEMU's writes are pairs of header and page, 64 vectors each" "$PYTHON" -c '
import os, socket, subprocess, sys
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
p = subprocess.Popen([os.environ["FAKE_VM"], "write", "--kind=qemu", "--size=9000001"], stdout=b)
b.close()
sizes = []
while True:
    n = len(a.recv(1 << 20))
    if n == 0:
        break
    sizes.append(n)
p.wait()
full = [n for n in sizes if n in (131328, 131328 + 144)]
print(sizes)
sys.exit(not (p.returncode == 0 and len(full) > 50 and len(full) > len(sizes) - 12 and 32768 in sizes))'

# ---- damage

for kind in plain qemu libvirt elf; do
  spec="--kind=$kind --size=1500001 --seed=11"
  # shellcheck disable=SC2086
  fake write $spec > "$T/good"
  for at in 0 1 91 92 4095 4096 700000 1499999 1500000; do
    cp "$T/good" "$T/s"
    damage "$T/s" flip $at
    # shellcheck disable=SC2086
    is "one wrong bit at $at of a $kind stream is found there" \
      "$(verdict $spec --file="$T/s" | sed 's/: got.*//')" "fake-vm: first wrong byte at offset $at"
  done
  cp "$T/good" "$T/s"
  damage "$T/s" drop 1500000
  # shellcheck disable=SC2086
  is "a $kind stream that lacks its last byte is short" "$(verdict $spec --file="$T/s")" \
    "fake-vm: short: ended at 1500000, wanted 1500001"
  cp "$T/good" "$T/s"
  damage "$T/s" insert 1500001
  # shellcheck disable=SC2086
  is "a $kind stream with a byte too many is long" "$(verdict $spec --file="$T/s")" \
    "fake-vm: long: wanted 1500001 bytes, and there are more"
  for edit in "drop 600000" "insert 600000" "swap 600000 800000"; do
    cp "$T/good" "$T/s"
    # shellcheck disable=SC2086
    damage "$T/s" $edit
    # shellcheck disable=SC2086
    is "a $kind stream after '$edit' differs from there on" \
      "$(verdict $spec --file="$T/s" | sed -E 's/ at offset 60[0-9]{4}: got.*//')" "fake-vm: first wrong byte"
  done
  # shellcheck disable=SC2086
  check_fails "a $kind stream of another seed is refused" fake check $spec --seed=12 --file="$T/good"
done
: > "$T/s"
is "nothing at all is short" "$(verdict --size=5 --file="$T/s")" "fake-vm: short: ended at 0, wanted 5"
check_fails "a damaged stream makes the checker exit with 1" fake check --size=5 --file="$T/s"

# ---- endings

for off in 0 1 131328 777777; do
  fake write --kind=qemu --size=1M --die-at=$off 2>/dev/null | cat > "$T/s"
  is "a producer that dies after $off bytes has written $off" "${PIPESTATUS[0]} $(stat -c %s "$T/s")" "137 $off"
  fake write --kind=qemu --size=1M --exit-at=$off:42 | cat > "$T/s"
  is "a producer that exits after $off bytes has written $off" "${PIPESTATUS[0]} $(stat -c %s "$T/s")" "42 $off"
  fake write --kind=qemu --size=1M --stop-at=$off | cat > "$T/s"
  is "a producer that stops after $off bytes has written $off" "${PIPESTATUS[0]} $(stat -c %s "$T/s")" "0 $off"
  is "the checker knows a stream that is cut to $off bytes" \
    "$(verdict --kind=qemu --size=1M --stop-at=$off --file="$T/s")" "fake-vm: ok $off bytes"
done
fake write --size=1M --exit-at=1M | cat > "$T/s"
is "a producer that exits at the very end has written all" "${PIPESTATUS[0]} $(stat -c %s "$T/s")" "1 1048576"

fake write --size=1M --chunk=1000 2> "$T/err" | head -c 12345 > "$T/s"
is "a producer whose reader left exits with 3" "${PIPESTATUS[0]}" 3
is "a producer whose reader left says where" "$(sed 's/[0-9]*$//' "$T/err")" "fake-vm: reader left at offset "

"$FAKE_VM" write --size=1M --stall-at=100000 2> "$T/err" > >(cat > "$T/s") &
producer=$!
has_bytes () { [ "$(stat -c %s "$T/s")" = "$1" ]; }
check "a producer that stalls has written what was asked" wait_for 20 has_bytes 100000
check "a producer that stalls says so" wait_for 20 grep -qx stalled "$T/err"
check "a producer that stalls stays" kill -0 "$producer"
kill "$producer"
wait "$producer"
is "a producer that stalls ends on a signal" $? 143

check "a producer that stalls ends when its reader has left" run 20 bash -c '
"$FAKE_VM" write --stall-at=10 2> "$T/err" | head -c 1 > "$T/s"
test "${PIPESTATUS[0]}" = 3'

fake write --size=1M --nonblock 2> "$T/err" | fake check --size=1M --close-at=54321 > "$T/out"
is "a consumer that leaves early exits with 0" "${PIPESTATUS[1]}" 0
is "a consumer that leaves early says where" "$(cat "$T/out")" "fake-vm: closed at offset 54321"
fake write --size=1M 2> "$T/err" | fake check --size=1M --exit-at=54321:9 > "$T/out"
is "a consumer exits where and as it is told" "${PIPESTATUS[1]}" 9

# ---- the command line

one_line_and_2 ()
{
  local status=0
  fake "$@" > "$T/out" 2> "$T/err" || status=$?
  cat "$T/err"
  [ "$status" = 2 ] && [ "$(wc -l < "$T/err")" = 1 ] && [ ! -s "$T/out" ]
}
while read -r words; do
  # shellcheck disable=SC2086
  check "'fake-vm $words' is refused in one line" one_line_and_2 $words
done << END

read
write --size
write --size=
write --size=1KB
write --size=-1
write --size=9999999999999999999
write --size=8388608T
write --siz=5
write --kind=xen
write --kind=qemu --size=100
write --preload=1
write --chunk=0
write --file=x
write --size=5 --die-at=6
write --die-at=1 --exit-at=2
write --exit-at=1:256
write --stall-ms=5
write --final
check --preload
check extra
END
check "--help succeeds" fake --help

done_testing
