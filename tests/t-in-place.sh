#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-in-place.sh - what is written where it is: --in-place, and every FILE that is
# no regular file.  None of them is ever unlinked or replaced.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON"

file=$T/vm.sav record=$T/record err=$T/err
new () { "$FAKE_VM" write --size=2000003 "$@" 2> /dev/null; }
is_new () { "$FAKE_VM" check --size=2000003 --file="${1:-$file}"; }
saves () { rm -f "$record"; run 60 "$IOHELPER" save --result="$record" "$@" 2> "$err"; }
field () { json "$record" "$1"; }
with_old () { rm -f "$file"; "$FAKE_VM" write --size=3000001 --seed=7 > "$file"; cp "$file" "$T/old"; }
as_before () { cmp "$T/old" "$file"; }
inode () { stat -c %i "$1"; }

begin ()
{
  rm -f "$T/in" "$record"
  mkfifo "$T/in"
  "$IOHELPER" save --result="$record" "$@" < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  wait_for 10 waits "$pid" || diag "the save does not wait for the stream"
}
waits ()
{
  local worker
  worker=$(pgrep -P "$1") && grep -q pipe_read "/proc/$worker/wchan"
}
finish () { exec 5>&-; wait "$pid"; }
cancel () { local s; kill -TERM "$pid"; wait "$pid"; s=$?; exec 5>&-; return "$s"; }

# ---- a regular file ----------------------------------------------------------------

with_old
ln "$file" "$T/other"
number=$(inode "$file")
new | saves --in-place "$file"
is "--in-place: the file has the stream, and keeps its inode" \
  "$? $(inode "$file") $(is_new > "$T/o" 2>&1 || cat "$T/o")" "0 $number "
check "... a hard link to it has the stream, too" is_new "$T/other"
is "... synced with fdatasync" "$(field sync) $(field synced) $(field target)" "data true new"

(umask 077; new | saves --in-place --mode=644 "$T/made")
is "--in-place makes a missing file, with --mode" \
  "$? $(stat -c %a "$T/made") $(is_new "$T/made" > "$T/o" 2>&1 || cat "$T/o")" "0 644 "

first_byte ()
{
  with_old
  begin --in-place "$file"
  as_before || return 1
  new >&5
  finish && is_new
}
check "--in-place: the old content stays until the stream begins" first_byte

no_byte ()
{
  with_old
  begin --in-place "$file"
  cancel
  [ "$?" = 143 ] && as_before && [ "$(field target)" = untouched ]
}
check "--in-place: cancelled before the first byte, the file is as it was" no_byte

no_byte_new ()
{
  rm -f "$T/missing"
  begin --in-place "$T/missing"
  cancel
  [ ! -e "$T/missing" ]
}
check "--in-place: cancelled before the first byte, a new file goes again" no_byte_new

# A manager that lost its producer before it began.
not_wanted ()
{
  with_old
  saves --in-place --commit-fd=7 "$file" < /dev/null 7< /dev/null
  [ "$?" = 7 ] && as_before
}
check "--in-place: an empty stream that is not to be committed leaves the file as it was" not_wanted

with_old
new --size=0 | saves --in-place "$file"
is "--in-place: an empty stream empties the file" "$? $(stat -c %s "$file")" "0 0"

partial ()
{
  with_old
  new --stop-at=1500000 | saves --in-place --expect-length=2000003 "$file"
  [ "$?" = 3 ] && [ "$(field outcome) $(field target)" = "truncated partial" ]
}
check "--in-place: after a stream that is too short the record says 'partial'" partial

# ---- --offset --------------------------------------------------------------------------

with_old
new | saves --offset=4096 "$file"
is "--offset without --in-place is refused, and the line names it" \
  "$? $(grep -c -e --in-place "$err")" "2 1"
check "... the file is as it was" as_before

inserted ()
{
  with_old
  new --size="$2" | saves --in-place --offset="$1" "$file" || return 1
  cmp "$file" <(head -c "$1" "$T/old"; new --size="$2"; tail -c "+$(($1 + $2 + 1))" "$T/old")
}
for offset in 0 1 511 4096 100003 3000001; do
  check "--in-place --offset=$offset: only that part changes" inserted "$offset" 70001
done
check "--in-place --offset with an empty stream: nothing changes" inserted 4096 0

hole ()
{
  printf abc > "$file"
  printf xyz | saves --in-place --offset=1M "$file" || return 1
  cmp "$file" <(printf abc; head -c 1048573 /dev/zero; printf xyz)
}
check "--in-place --offset beyond the end: the gap reads as zeroes" hole

# ---- special files ----------------------------------------------------------------------

mkfifo "$T/fifo"
number=$(inode "$T/fifo")
cat "$T/fifo" > "$T/out" &
reader=$!
new | saves "$T/fifo"
is "save to a FIFO: status 0" "$?" 0
wait "$reader"
check "... its reader gets the stream" is_new "$T/out"
is "... it is still the same FIFO" "$(inode "$T/fifo") $(stat -c %F "$T/fifo")" "$number fifo"

new > "$T/fifo" &
run 60 "$IOHELPER" restore "$T/fifo" > "$T/out"
check "restore from a FIFO gives what is written to it" is_new "$T/out"

cat > "$T/listen.py" << 'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
c = s.accept()[0]
with open(sys.argv[2], "wb") as f:
    while True:
        data = c.recv(1 << 16)
        if not data:
            break
        f.write(data)
END
"$PYTHON" "$T/listen.py" "$T/socket" "$T/out" &
reader=$!
wait_for 10 test -S "$T/socket"
number=$(inode "$T/socket")
new | saves "$T/socket"
is "save to a socket: status 0" "$?" 0
wait "$reader"
check "... its reader gets the stream" is_new "$T/out"
is "... it is still the same socket" "$(inode "$T/socket") $(stat -c %F "$T/socket")" "$number socket"
new | saves "$T/socket"
is "save to a socket that nobody listens on is refused in one line" "$? $(wc -l < "$err")" "2 1"

new | saves /dev/null
is "save to /dev/null: status 0, nothing is cached" "$? $(field bytes) $(field cache)" "0 2000003 none"
is "... it is still a device" "$(stat -c %F /dev/null)" "character special file"
new | saves /dev/full
is "save to /dev/full: no space, from the first byte" "$? $(field error.errno) $(field error.offset)" \
  "9 ENOSPC 0"
is "... it is still a device" "$(stat -c %F /dev/full)" "character special file"

mkdir "$T/folder"
new | saves "$T/folder"
is "save to a folder is refused in one line" "$? $(wc -l < "$err")" "2 1"

# ---- a file that is a mount point ----------------------------------------------------------

need_root
touch "$T/above"
with_old
mount --bind "$file" "$T/above"
number=$(inode "$file")
new | saves "$T/above"
status=$?
is "a bind-mounted file: a replacement fails, and the line names the way out" \
  "$status $(field error.errno) $(grep -c -e '--in-place' "$err")" "1 EBUSY 1"
check "... the file is as it was" as_before
is "... no temporary file stays" "$(find "$T" -name '*.iohelper-*')" ""
new | saves --in-place "$T/above"
is "... with --in-place it is saved" "$? $(is_new > "$T/o" 2>&1 || cat "$T/o")" "0 "

done_testing
