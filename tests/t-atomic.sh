#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-atomic.sh - a save replaces FILE in one step: whoever looks sees the old
# content or the new, with the same owner and rights, and nothing else is left.
# shellcheck source=tests/lib.sh disable=SC2119
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON"

wrap=() # a command that runs the helper
d=$T/d file=$T/d/vm.sav record=$T/record err=$T/err
new () { "$FAKE_VM" write --size=2000003 "$@" 2> /dev/null; }
old () { "$FAKE_VM" write --size=3000001 --seed=7 "$@"; }
is_new () { "$FAKE_VM" check --size=2000003 --file="${1:-$file}"; }
# shellcheck disable=SC2120 # check passes a name
is_old () { "$FAKE_VM" check --size=3000001 --seed=7 --file="${1:-$file}"; }
fresh () { rm -rf "$d"; mkdir "$d"; }
with_old () { fresh; old > "$file"; }
# Nothing in the folder but FILE, or what is named.
only () { [ "$(ls -A "$d")" = "${1-vm.sav}" ] || { ls -lA "$d"; return 1; }; }
saves () { run 60 "${wrap[@]}" "$IOHELPER" save --result="$record" "$@" 2> "$err"; }
field () { json "$record" "$1"; }

# A save whose stream comes from descriptor 5 and ends when that is closed.
begin ()
{
  rm -f "$T/in" "$record"
  mkfifo "$T/in"
  "${wrap[@]}" "$IOHELPER" save --result="$record" "$@" < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  wait_for 10 opened "$pid" || diag "the save did not open its file"
}
# The worker has files in the folder, and waits for the stream.
opened ()
{
  local worker
  worker=$(pgrep -P "$1") && [ -n "$(find "/proc/$worker/fd" -lname "$d*")" ] \
    && grep -q pipe "/proc/$worker/wchan"
}
finish () { exec 5>&-; wait "$pid"; }

# ---- the old or the new ---------------------------------------------------------

polled ()
{
  with_old
  "$PYTHON" -c '
import sys
path, old = sys.argv[1], open(sys.argv[1], "rb").read()
seen = 0
while True:
    now = open(path, "rb").read()
    if now != old:
        break
    seen += 1
print("new" if len(now) == 2000003 else "torn: %d" % len(now), "old" if seen else "")' "$file" > "$T/seen" &
  local reader=$!
  new --pace=8M | saves "$file" || return 1
  wait "$reader"
  cat "$T/seen"
  [ "$(cat "$T/seen")" = "new old" ] && is_new && only
}
check "a reader sees the old content, then the whole new one" polled
is "the record says so" "$(field outcome) $(field target) $(field synced) $(field sync)" \
  "committed new true full"

fresh
new | saves "$file"
is "a new name gets the stream" "$? $(is_new > "$T/o" 2>&1 || cat "$T/o")" "0 "
check "... and nothing else is made" only

with_old
new --stop-at=1000000 | saves --expect-length=2000003 "$file"
is "a stream that is too short: status 3" "$?" 3
check "... the old content stays" is_old
check "... no temporary file stays" only
is "... the record says so" "$(field outcome) $(field target)" "truncated untouched"

cancelled ()
{
  with_old
  begin "$file"
  new >&5
  kill -TERM "$pid"
  finish
  [ "$?" = 143 ] && is_old && only && [ "$(field target)" = untouched ]
}
check "SIGTERM in mid-stream: the old content stays, no temporary file does" cancelled

# ---- rights -----------------------------------------------------------------------

mode_of () { stat -c %a "$file"; }
for mask in 000 077; do
  fresh
  (umask "$mask"; new | saves "$file")
  is "a new file has mode 600 under umask $mask" "$(mode_of)" 600
  (umask "$mask"; new | saves --mode=640 "$file")
  is "--mode=640 wins under umask $mask, when the file is replaced" "$(mode_of)" 640
done
is "... without a warning, since it was asked for" "$(cat "$err")" ""

if [ "$(id -u)" = 0 ]; then
  # An ACL that lets user 65534 read, as the kernel keeps it.
  "$PYTHON" - "$file" << 'END'
import os, struct, sys
acl = struct.pack("<I", 2)
for tag, bits, who in ((1, 6, -1), (2, 4, 65534), (4, 4, -1), (16, 4, -1), (32, 0, -1)):
    acl += struct.pack("<HHi", tag, bits, who)
os.setxattr(sys.argv[1], "system.posix_acl_access", acl)
os.setxattr(sys.argv[1], "user.note", b"kept")
os.chown(sys.argv[1], 12, 34)
END
  attributes () { stat -c '%u:%g %a' "$file"; "$PYTHON" -c '
import os, sys
for name in sorted(os.listxattr(sys.argv[1])):
    print(name, os.getxattr(sys.argv[1], name))' "$file"; }
  before=$(attributes)
  new | saves "$file"
  is "owner, group, mode, ACL and extended attributes of a replaced file are kept" \
    "$(attributes)" "$before"
  is "... a mode that lets others read is a warning, here and in the record" \
    "$(grep -c 'warning: .*--mode=600' "$err") $(field warnings | grep -c -e '--mode=600')" "1 1"
else
  skip "owner, group, mode, ACL and extended attributes are kept" "root is needed"
fi

# ---- symbolic and hard links ----------------------------------------------------------

link_case () # SENTENCE TARGET-NAME...; the last one is FILE
{
  check "$1: the file it leads to is replaced" is_new "$2"
  check "$1: the link stays a link" test -L "$3"
}
with_old
ln -s vm.sav "$d/rel"
new | saves "$d/rel"
link_case "a relative link" "$file" "$d/rel"
with_old
mkdir "$d/sub"
ln -s ../vm.sav "$d/sub/one"
ln -s "$d/sub/one" "$d/two"
new | saves "$d/two"
link_case "a chain of links" "$file" "$d/two"
is "... no temporary file in any folder" "$(find "$d" -name '*iohelper*')" ""
fresh
ln -s vm.sav "$d/dangling"
new | saves "$d/dangling"
link_case "a dangling link" "$file" "$d/dangling"
with_old
ln -s vm.sav "$d/rel"
new | saves --no-follow "$d/rel"
is "--no-follow: a link is refused, and the line says why" \
  "$? $(grep -c -e 'symbolic link.*--no-follow' "$err")" "2 1"
check "... its file is as it was" is_old
fresh
ln -s loop "$d/loop"
new | saves "$d/loop"
is "a link to itself is refused" "$? $(wc -l < "$err")" "2 1"
with_old
ln "$file" "$d/other"
new | saves "$file"
check "a hard link: FILE is new" is_new
check "... the other name keeps the old content" is_old "$d/other"

# ---- --no-clobber ---------------------------------------------------------------------

with_old
new | saves --no-clobber "$file"
is "--no-clobber: an existing file is refused with status 8" "$? $(field outcome)" "8 exists"
check "... and is as it was" is_old
fresh
new | saves --no-clobber "$file"
is "--no-clobber: a new file is made" "$? $(is_new > "$T/o" 2>&1 || cat "$T/o")" "0 "

appears ()
{
  fresh
  begin --no-clobber "$file"
  new >&5
  old > "$file"
  finish
  [ "$?" = 8 ] && is_old && only && [ "$(field outcome)" = exists ]
}
check "--no-clobber: a file that appears under way is kept, status 8" appears
appears_plain ()
{
  fresh
  begin "$file"
  new >&5
  old > "$file"
  finish && is_new && only
}
check "without it, such a file is replaced" appears_plain
mkfifo "$T/fifo"
new | saves --no-clobber "$T/fifo"
is "--no-clobber on a FIFO is refused" "$?" 2

# ---- what changes under way --------------------------------------------------------------

swapped ()
{
  with_old
  rm -rf "$T/moved"
  begin "$file"
  new >&5
  mv "$d" "$T/moved"
  mkdir "$d"
  finish && is_new "$T/moved/vm.sav" && only ""
}
check "the folder is moved under way: the file is replaced where it was opened" swapped

# ---- without O_TMPFILE ----------------------------------------------------------------------

wrap=("$PYTHON" "$top_srcdir/tests/no-tmpfile.py")
if "${wrap[@]}" true; then
  with_old
  new | saves "$file"
  is "without O_TMPFILE: FILE is replaced" "$? $(is_new > "$T/o" 2>&1 || cat "$T/o")" "0 "
  check "... no temporary file stays" only
  with_old
  new --stop-at=1000000 | saves --expect-length=2000003 "$file"
  check "... after a failure, too" only
  check "... nor is the old content touched" is_old
  check "... SIGTERM in mid-stream: likewise" cancelled
  check "... --no-clobber: a file that appears under way is kept" appears

  killed ()
  {
    with_old
    begin "$file"
    [ "$(find "$d" -name '.vm.sav.iohelper-??????' -perm 600 | wc -l)" = 1 ] || return 1
    kill -KILL "$pid"
    # Its worker is killed with it; an end of file before that would tidy up.
    wait "$pid"
    finish
    wait_for 5 unheld || return 1
    is_old && [ "$(find "$d" -name '.vm.sav.iohelper-*' | wc -l)" = 1 ]
  }
  unheld () # flock would make a file that is not there
  {
    local temp
    temp=$(find "$d" -name '.vm.sav.iohelper-??????')
    [ -n "$temp" ] && flock -n "$temp" true
  }
  check "... SIGKILL leaves one temporary file, closed to others" killed
  touch "$d/.vm.sav.iohelper-mine" "$d/.other.iohelper-abcdef"
  new | saves "$file"
  is "... the next save removes it, and nothing that only looks like it" \
    "$(ls -A "$d")" "$(printf '%s\n' .other.iohelper-abcdef .vm.sav.iohelper-mine vm.sav)"

  two_at_once ()
  {
    with_old
    begin "$file"
    new >&5
    old --seed=8 | run 60 "${wrap[@]}" "$IOHELPER" save "$file" || return 1
    "$FAKE_VM" check --size=3000001 --seed=8 --file="$file" || return 1
    finish && is_new && only
  }
  check "... of two saves at once each is whole, the last one stays" two_at_once
else
  skip "without O_TMPFILE" "no seccomp filter for this machine"
fi

done_testing
