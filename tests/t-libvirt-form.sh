#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-libvirt-form.sh - the three forms in which libvirt calls its helper: started
# as libvirtd starts it (bare environment, folder /, FILENAME not there), status
# 0 or 1, one line on stderr for a failure and nothing else.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON" strace

size=1500001
stream=$T/stream image=$T/image out=$T/out err=$T/err
name=/nonexistent/guest.save
"$FAKE_VM" write --kind=libvirt --size="$size" > "$stream"

bare () { empty_env -C / LIBVIRT_LOG_OUTPUTS=1:stderr "$@" 2> "$err"; }
helper () { bare "$IOHELPER" "$@"; }
# fds N=WHAT... -- ARGUMENTS: descriptors as given, see fds.py
fds ()
{
  local plan=()
  while [ "$1" != -- ]; do plan+=("$1"); shift; done
  shift
  bare "$PYTHON" "$top_srcdir/tests/fds.py" --report="$T/report" "${plan[@]}" -- "$IOHELPER" "$@"
}

# The file is the stream, and stderr is empty.
clean () { cmp "$1" "${2:-$image}" && [ ! -s "$err" ]; }
one_line () { [ "$(wc -l < "$err")" = 1 ] && [ "$(head -c 10 "$err")" = 'iohelper: ' ]; }

# refused SENTENCE STATUS: how libvirt hears of a failure
refused ()
{
  if [ "$2" = 1 ] && one_line; then
    ok "$1: status 1 and one line"
  else
    not_ok "$1: status 1 and one line"
    diag "status $2, $(cat "$err")"
  fi
}

# ---- the form of today: FILENAME FD -------------------------------------------

saves () { helper "$name" 1 < "$stream" > "$image"; }
check "FILENAME 1: stdin is saved to stdout, status 0" saves
check "... every byte is there, and nothing is on stderr" clean "$stream"

restores () { helper "$name" 0 < "$stream" > "$out"; }
check "FILENAME 0: stdin is restored to stdout, status 0" restores
check "... every byte is there, and nothing is on stderr" clean "$stream" "$out"

traced ()
{
  (no_leak_check; strace -f -o "$T/trace" -e trace=%file "$IOHELPER" "$T/named" "$@")
}
printf 'not mine' > "$T/named"
traced 1 < "$stream" > "$image" 2> "$err"
is "FILENAME is in no system call but execve" "$(grep -F "$T/named" "$T/trace" | grep -vc execve)" 0
is "... and that file is as it was" "$(cat "$T/named")" 'not mine'

# ---- the older forms -----------------------------------------------------------

helper "$name" 0 1 < "$stream" > "$image"
check "FILENAME LENGTH FD: a LENGTH of 0 moves all" clean "$stream"
helper "$name" 1000000 1 < "$stream" > "$image"
check "FILENAME LENGTH FD: so many bytes are saved and no more" \
  cmp "$image" <(head -c 1000000 "$stream")
helper "$name" 1000000 0 < "$stream" > "$out"
check "FILENAME LENGTH FD: so many bytes are restored and no more" \
  cmp "$out" <(head -c 1000000 "$stream")

head -c 3000 /dev/zero > "$image" # 577: O_WRONLY, O_CREAT, O_TRUNC; 384: 0600
helper "$image" 577 384 0 0 < "$stream"
check "FILENAME OFLAGS MODE OFFSET LENGTH: opens FILENAME, saves all" clean "$stream"
rm "$image"
(umask 0; helper "$image" 577 416 0 0 < "$stream")
is "... a new file gets MODE" "$(stat -c %a "$image")" 640
helper "$image" 1 0 4097 0 < <(printf changed)
check "... OFFSET is where it starts, the rest stays" \
  cmp "$image" <(head -c 4097 "$stream"; printf changed; tail -c +4105 "$stream")
helper "$stream" 0 0 513 70000 > "$out"
check "... reading: OFFSET and LENGTH give that part" cmp "$out" <(tail -c +514 "$stream" | head -c 70000)
cp "$stream" "$image"
helper "$image" 0 0 0 0 1 > "$out"
check "... DELETE: the whole file is read" clean "$stream" "$out"
check_fails "... DELETE: and then removed" test -e "$image"
cp "$stream" "$image"
helper "$image" 0 0 0 0 1 | head -c 1000 > "$out"
check "... DELETE with a reader that left: the file is still there" cmp "$stream" "$image"
helper "$image" 0 0 0 0 0 > "$out"
check "... DELETE of 0: the file is still there" cmp "$stream" "$image"
helper "$T/missing" 0 0 0 0 > "$out"
refused "... a FILENAME that is not there" $?

ln -s "$IOHELPER" "$T/libvirt_iohelper"
bare "$T/libvirt_iohelper" guest.save 1 < "$stream" > "$image"
check "called as libvirt_iohelper, FILENAME need not begin with a slash" clean "$stream"

# ---- where the stock helper fails -------------------------------------------------

killed () { "$FAKE_VM" write --kind=libvirt --size="$size" --die-at=700001; :; }
killed 2> /dev/null | helper "$name" 1 > "$image"
check "stock fault, writer killed: the file has what came, to the last byte" \
  cmp "$image" <(head -c 700001 "$stream")

sigterm ()
{
  local pid
  "$FAKE_VM" write --kind=libvirt --size="$size" --stall-at=500000 2> /dev/null > >(
    empty_env -C / "$IOHELPER" "$name" 1 > "$image" 2> "$err") &
  pid=$!
  wait_for 10 pgrep -f "^$IOHELPER $name 1" || return 1
  # All of it is in the pipe or taken out of it once the producer says "stalled".
  wait_for 10 drained "$(pgrep -o -f "^$IOHELPER $name 1")" || return 1
  kill -TERM "$(pgrep -o -f "^$IOHELPER $name 1")"
  wait_for 5 gone "^$IOHELPER $name 1" || return 1
  kill "$pid"
  cmp "$image" <(head -c 500000 "$stream")
}
gone () { ! pgrep -f "$1"; }
# The worker has read 500 kB: it, not the controller, has the pipe.
drained ()
{
  local pid
  for pid in $(pgrep -P "$1"); do
    [ "$(sed -n 's/^rchar: //p' "/proc/$pid/io")" -ge 500000 ] && return 0
  done
  return 1
}
check "stock fault, SIGTERM after 500 kB: they are in the file" sigterm

# QEMU knows the reason, and any line of ours would hide it.
helper "$name" 0 < "$stream" | head -c 5000 > "$out"
is "stock fault, consumer stops early: status 0, nothing on stderr" "${PIPESTATUS[0]} $(cat "$err")" "0 "
is "stock fault, consumer stops early: it got what it asked for" "$(stat -c %s "$out")" 5000

fds 0="pipe<$stream,nonblock,slow" 1="$image,wronly,creat,trunc" -- "$name" 1
check "stock fault, non-blocking stdin: all is saved" clean "$stream"
is "... and stdin is non-blocking as before" "$(sed -n 's/^0 //p' "$T/report")" "0o4000 -"
fds 0="$stream" 1="pipe>$out,nonblock,slow" -- "$name" 0
check "... non-blocking stdout: all is restored" clean "$stream" "$out"
is "... and stdout is non-blocking as before" "$(sed -n 's/^1 //p' "$T/report")" "0o4001 -"

fds 0="socket<$stream" 1="$image,wronly,creat,trunc" -- "$name" 1
check "stock fault, a socket as stdin (O_RDWR): all is saved" clean "$stream"
fds 0="$stream" 1="socket>$out" -- "$name" 0
check "stock fault, a socket as stdout: all is restored" clean "$stream" "$out"
fds 0="pipe<$stream" 1="socket>$out" -- "$name" 1
check "... a socket as FD 1: all is saved to it" clean "$stream" "$out"
fds 0="socket<$stream,nonblock,slow" 1="socket>$out,nonblock,slow" -- "$name" 0
check "... a socket as FD 0, both ends non-blocking: all is restored" clean "$stream" "$out"

for bad in x 1x '' -1 99 4294967297 0x1; do
  bare "$T/libvirt_iohelper" "$name" "$bad" < "$stream" > "$image"
  refused "stock fault, bad FD '$bad'" $?
  is "... that line names it" "$(grep -c -e "$bad" "$err")$(grep -c -e '(null)' -e 'Success' "$err")" 10
done

# No regular file of today refuses a flag that it took; the kernel can say EINVAL
# to the first write as well.
einval ()
(
  no_leak_check
  bare "$PYTHON" "$top_srcdir/tests/fds.py" 0="pipe<$stream" 1="$image,wronly,creat,trunc,direct" \
    -- "$(command -v strace)" -f -o "$T/trace" -P "$image" -e trace=write,pwrite64 \
    -e inject=write,pwrite64:error=EINVAL:when=1 "$IOHELPER" "$name" 1 \
    && grep -q INJECTED "$T/trace"
)
check "stock fault, O_DIRECT refused at the first write: it goes on without" einval
check "... and every byte is there" cmp "$stream" "$image"
if [ "$(id -u)" = 0 ]; then
  ram=$(mktemp -d "$T/mnt-XXXXXX")
  mount -t ramfs ramfs "$ram"
  helper "$ram/image" $((041101)) 384 0 0 < "$stream" # O_DIRECT is 040000
  is "stock fault, OFLAGS with O_DIRECT where there is none: saved without" \
    "$? $(cmp "$stream" "$ram/image" 2>&1)" "0 "

  device=$(loop_dev 98816) # 193 sectors, no multiple of 64 KiB
  head -c 98816 "$stream" > "$T/fits"
  fds 0="pipe<$T/fits" 1="$device,wronly,direct" -- "$name" 1
  is "stock fault, block device and O_DIRECT: a stream that fits exactly is saved" \
    "$? $(cmp "$device" "$T/fits" 2>&1)" "0 "
  head -c 1000 "$stream" | tr '\0-\377' '\377' > "$T/small"
  fds 0="pipe<$T/small" 1="$device,wronly,direct" -- "$name" 1
  is "stock fault, block device and O_DIRECT: not a byte after 1000 is changed" \
    "$? $(cmp "$device" <(cat "$T/small"; tail -c +1001 "$T/fits") 2>&1)" "0 "
else
  skip "stock faults with O_DIRECT on a block device" "root is needed"
fi

# ---- other ways to be wrong ----------------------------------------------------------

helper "$name" 0 < "$stream" 1< "$stream"
refused "reading, and stdout is not open for writing" $?
fds 0=closed 1="$image,wronly,creat,trunc" -- "$name" 1
refused "saving with stdin closed" $?
fds 0="$stream" 1=closed -- "$name" 0
refused "restoring with stdout closed" $?
fds 0="$stream,wronly" 1="$image,wronly,creat,trunc" -- "$name" 1
refused "saving from a stdin that is open for writing only" $?
fds 2=closed 0=closed 1="$image,wronly,creat,trunc" -- "$name" 1
is "with stderr closed, a failure is still status 1" "$? $(stat -c %s "$image")" "1 0"
for few in "" "$name" "$name 1 2 3" "$name 1 2 3 4 5 6"; do
  # shellcheck disable=SC2086 # a list
  bare "$T/libvirt_iohelper" $few < "$stream" > "$image"
  refused "arguments '$few'" $?
done
bare "$T/libvirt_iohelper" --help > "$out"
is "--help: status 0, and it says what it takes" "$? $(grep -c 'FILENAME FD' "$out")" "0 1"
helper "$name" 1 < "$stream" > /dev/full
refused "no space left" $?
is "... the line says where and why" "$(cat "$err")" \
  "iohelper: writing '$name' at offset 0: No space left on device"

# ---- descriptors in any role ----------------------------------------------------------

fds 0="$stream" 2="$image,wronly,creat,trunc" -- "$name" 2
is "the file on descriptor 2: the stream and nothing else" "$? $(cmp "$stream" "$image" 2>&1)" "0 "
fds 0="$stream" 2="$image,wronly,creat,trunc" -- "$name" 2 > /dev/full
is "... stdout is not used" "$?" 0
full () { (ulimit -f 500; fds 0="$stream" 2="$image,wronly,creat,trunc" -- "$name" 2); }
full
is "... after a failure, too, it holds nothing but the stream" \
  "$? $(cmp "$image" <(head -c 512000 "$stream") 2>&1)" "1 "
fds 2="$stream" 1="pipe>$out" -- "$name" 2
is "the file on descriptor 2, reading: all is restored" "$? $(cmp "$stream" "$out" 2>&1)" "0 "
fds 0="$stream" 7="$image,wronly,creat,trunc" -- "$name" 7
is "the file on descriptor 7: all is saved" "$? $(cmp "$stream" "$image" 2>&1)" "0 "

printf before > "$image"
fds 0="pipe<$stream" 1="$image,wronly,append" -- "$name" 1
check "a file open for appending: the stream follows what was there" \
  cmp "$image" <(printf before; cat "$stream")
cp "$stream" "$image"
fds 0="pipe<$stream" 1="$image,wronly,at=100003,direct" -- "$name" 1
check "a file position that is not 0: the stream begins there" \
  cmp "$image" <(head -c 100003 "$stream"; cat "$stream")
is "... its position is behind the stream" "$(sed 's/.* //' "$T/report" | tail -n 1)" $((size + 100003))
fds 0="$stream,at=4099,direct" 1="pipe>$out" -- "$name" 0
check "reading from a position that is not 0: the rest of the file" \
  cmp "$out" <(tail -c +4100 "$stream")

direct_kept () { [ $(($(sed -n "s/^$1 0o\([0-9]*\) .*/0\1/p" "$T/report") & 040000)) != 0 ]; }
fds 0="pipe<$stream" 1="$image,wronly,creat,trunc,direct" -- "$name" 1
check "O_DIRECT, an odd size: every byte is there" clean "$stream"
check "... and the flag is back afterwards" direct_kept 1
fds 0="$stream,direct" 1="pipe>$out" -- "$name" 0
check "O_DIRECT, reading an odd size: every byte is there" clean "$stream" "$out"
check "... and the flag is back afterwards" direct_kept 0
fds 0="socket<$stream,slow" 1="$image,wronly,creat,trunc,direct" -- "$name" 1000001 1
check "O_DIRECT and a LENGTH that is odd: that many bytes" cmp "$image" <(head -c 1000001 "$stream")
(ulimit -f 500; fds 0="$stream" 1="$image,wronly,creat,trunc,direct" -- "$name" 1)
refused "O_DIRECT, a failure in mid-stream" $?
check "... and the flag is back afterwards" direct_kept 1

done_testing
