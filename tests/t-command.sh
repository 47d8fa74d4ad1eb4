#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-command.sh - who says that a stream was whole: the command that wrote it, or
# a manager's byte on --commit-fd; and what the command that reads one says.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON"

file=$T/vm.sav record=$T/record err=$T/err
new () { "$FAKE_VM" write --size=2000003; }
is_new () { "$FAKE_VM" check --size=2000003 --file="$file"; }
with_old () { printf old > "$file"; }
as_before () { [ "$(cat "$file")" = old ] && [ -z "$(find "$T" -name '*.iohelper-*')" ]; }
saves () { run 60 "$IOHELPER" save --result="$record" "$@" 2> "$err"; }
restores () { run 60 "$IOHELPER" restore --result="$record" "$@" 2> "$err"; }
field () { json "$record" "$1"; }
ended () { is "$1" "$2 $(field outcome) $(field command_status)" "$3"; }

# ---- save FILE -- COMMAND ---------------------------------------------------------

with_old
saves "$file" -- "$FAKE_VM" write --size=2000003
ended "a command that ends with 0: its stream is committed" $? "0 committed 0"
check "... and whole" is_new
is "... that is the evidence" "$(field evidence)" child

with_old
saves "$file" -- "$FAKE_VM" write --size=2000003 --exit-at=2000003:3
ended "a command that writes all and ends with 3: not committed" $? "1 failed 3"
check "... the old file is as it was" as_before
is "... one line names the status" "$(wc -l < "$err") $(grep -c 'status 3' "$err")" "1 1"

saves "$file" -- "$FAKE_VM" write --size=2000003 --die-at=2000003
ended "a command that is killed when all is written: not committed" $? "1 failed 137"
check "... the old file is as it was" as_before

saves "$file" -- "$T/missing" < /dev/null
is "a command that is not there: refused" "$? $(field outcome)" "2 usage"
is "... one line names it" "$(wc -l < "$err") $(grep -c "'$T/missing'" "$err")" "1 1"
touch "$T/no-x"
saves "$file" -- "$T/no-x"
is "a command that may not be run: refused" "$? $(field error.errno)" "2 EACCES"
check "... the old file is as it was" as_before

saves "$file" -- sh -c 'cat; printf x' < <(printf 'from stdin ')
is "a command has our stdin" "$? $(cat "$file")" "0 from stdin x"
saves --expect-length=5 "$file" -- printf 123456
ended "a command that writes too much: too-long, and it does not hang" \
  "$?" "4 too-long $(field command_status)"
with_old
saves /dev/full -- sh -c 'trap "" PIPE; while printf xxxxxxxxxxxxxxxx; do :; done 2> /dev/null; exit 0'
is "no space left: reported though the command ends with 0" "$? $(field outcome)" "9 no-space"

# Closes its pipe, and does not end: the save waits for its word.
slow () { saves "$file" -- sh -c 'printf new; exec >&-; sleep 0.2; exit 4'; }
with_old
slow
ended "a command that fails after its end of file: not committed" $? "1 failed 4"
check "... the old file is as it was" as_before

# ---- what COMMAND inherits ----------------------------------------------------------

cat > "$T/held.py" << 'END'
import os
for fd in sorted(map(int, os.listdir("/proc/self/fd"))):
    try:
        print(fd, os.readlink("/proc/self/fd/%d" % fd).split(":")[0])
    except OSError:
        pass # the one that lists
END
printf y > "$T/byte"
run 60 "$PYTHON" "$top_srcdir/tests/fds.py" 0=/dev/null 9="pipe<$T/byte" 8="$T/by-fd,rdwr,creat" \
  -- "$IOHELPER" save --commit-fd=9 --result-fd=8 "$file" -- "$PYTHON" "$T/held.py" 2> "$err"
is "COMMAND holds its stdin, the pipe and stderr, and nothing of ours" "$(cat "$file")" \
  "$(printf '%s\n' '0 /dev/null' '1 pipe' "2 $err")"
fresh_signals ()
{
  (trap '' TERM USR1; saves "$file" -- grep -E '^Sig(Blk|Ign)' /proc/self/status) || return 1
  # A SIGHUP that was ignored before us stays so, as nohup wants; 32 and 33 are
  # the C library's own, which it does not let anybody set.
  local name bits
  while read -r name bits; do
    [ $((0x$bits & 0x7ffffffe)) = 0 ] || { echo "$name $bits"; return 1; }
  done < "$file"
}
check "COMMAND has no signal blocked or ignored by us" fresh_signals

# ---- restore FILE -- COMMAND ----------------------------------------------------------

new > "$file"
restores "$file" -- "$FAKE_VM" check --size=2000003 > "$T/out"
ended "a consumer that ends with 0: delivered" $? "0 delivered 0"
is "... it got all" "$(cat "$T/out")" "fake-vm: ok 2000003 bytes"
restores "$file" -- sh -c 'cat > /dev/null; exit 3'
ended "a consumer that reads all and ends with 3: failed" $? "1 failed 3"
restores "$file" -- "$FAKE_VM" check --size=2000003 --close-at=1000
ended "a consumer that leaves early and ends with 0" $? "5 consumer-closed 0"
restores "$file" -- sh -c 'head -c 1000 > /dev/null; exit 3'
ended "a consumer that leaves early and ends with 3" $? "5 consumer-closed 3"
is "... the line names its status" "$(grep -c 'status 3' "$err")" 1
restores "$file" -- "$T/missing"
is "a consumer that is not there: refused" "$? $(field outcome)" "2 usage"

# ---- --commit-fd ------------------------------------------------------------------------

with_old
new | saves --commit-fd=9 "$file" 9< <(printf y)
is "--commit-fd and a byte: committed" "$? $(field outcome)" "0 committed"
check "... and whole" is_new
is "... the manager is the evidence" "$(field evidence)" manager

with_old
new | saves --commit-fd=9 "$file" 9< /dev/null
is "--commit-fd that is closed without a byte: cancelled, status 7" "$? $(field outcome)" "7 cancelled"
check "... the old file is as it was" as_before

patient ()
{
  local pid
  rm -f "$T/commit" "$record"
  mkfifo "$T/commit"
  with_old
  new | "$IOHELPER" save --result="$record" --commit-fd=9 "$file" 9<> "$T/commit" 2> "$err" &
  pid=$!
  wait_for 10 idle "$pid" || return 1
  as_before || return 1
  printf y > "$T/commit"
  wait "$pid" && is_new
}
# The stream is at its end, and the worker waits for the controller's word.
idle () { grep -qE 'unix|sock|skb' "/proc/$(pgrep -P "$1")/wchan"; }
check "--commit-fd: after the end of the stream nothing is committed until the byte comes" patient

early ()
{
  with_old
  "$FAKE_VM" write --size=2000003 --stall-at=1000 --stall-ms=200 \
    | saves --commit-fd=9 "$file" 9< <(printf y) || return 1
  is_new
}
check "--commit-fd: a byte that comes before the stream commits no less" early

with_old
saves --commit-fd=9 "$file" 9< <(printf y) -- sh -c 'printf new; exit 5'
ended "--commit-fd with a command that fails: the command wins" $? "1 failed 5"
check "... the old file is as it was" as_before

done_testing
