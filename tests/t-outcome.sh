#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-outcome.sh - how a relay ends: one exit status, one record, one line on
# stderr, and the three agree.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON"

file=$T/vm.sav record=$T/record err=$T/err
new () { "$FAKE_VM" write --size=2000003 2> /dev/null; }
is_new () { "$FAKE_VM" check --size=2000003 --file="${1:-$file}"; }
saves () { run 60 "$IOHELPER" save --result="$record" "$@" 2> "$err"; }
restores () { run 60 "$IOHELPER" restore --result="$record" "$@" 2> "$err"; }
field () { json "$record" "$1"; }

# ended SENTENCE STATUS WANT OUTCOME: status and record agree, and the line on
# stderr is the record's own.
ended ()
{
  local line=
  [ "$3" = 0 ] || line="iohelper: $(field error.message)"
  is "$1: status $3, outcome $4, the record and stderr agree" \
    "$2 $(field exit_status) $(field outcome): $(cat "$err")" "$3 $3 $4: $line"
}

# ---- each outcome ----------------------------------------------------------------

new | saves "$file"
ended "a good save" $? 0 committed
restores "$file" > "$T/out"
ended "a good restore" $? 0 delivered
is "... says how much" "$(field bytes)" 2000003

new | saves --expect-length=2000004 "$file"
ended "a stream shorter than --expect-length" $? 3 truncated
new | saves --expect-length=2000002 "$file"
ended "a stream longer than --expect-length" $? 4 too-long
new | saves --expect-length=2000003 "$file"
ended "a stream of exactly --expect-length" $? 0 committed
is "... which is the evidence" "$(field evidence)" length
new | saves --length=2000002 "$file"
ended "a stream longer than --length" $? 4 too-long
new | saves --length=2000003 "$file"
ended "a stream as long as --length" $? 0 committed
is "... end of file is the evidence" "$(field evidence)" eof
restores --expect-length=2000004 "$file" > "$T/out"
ended "restore of a file shorter than --expect-length" $? 3 truncated
is "... not a byte was moved" "$(stat -c %s "$T/out")" 0
restores --expect-length=2000002 "$file" > "$T/out"
ended "restore of a file longer than --expect-length" $? 4 too-long
restores --length=2000002 --expect-length=2000002 "$file" > "$T/out"
ended "restore of a part of the expected length" $? 0 delivered
new | saves --no-clobber "$file"
ended "--no-clobber and a file that exists" $? 8 exists

restores "$file" | head -c 1000 > "$T/out"
ended "a consumer that leaves early" "${PIPESTATUS[0]}" 5 consumer-closed
is "... says how much it took, and why that ended" \
  "$([ "$(field bytes)" -lt 2000003 ] && field error.errno)" EPIPE
# SIGPIPE at its default kills cat here.
closed () { "$PYTHON" -c '
import signal, subprocess, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
sys.exit(subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode)' "$@"; }
closed "$IOHELPER" restore "$file" | true
is "SIGPIPE does not kill it" "${PIPESTATUS[0]}" 5

new | saves /dev/full
ended "a device that is full" $? 9 no-space
is "... the line names operation, file, offset and reason" "$(cat "$err")" \
  "iohelper: writing '/dev/full' at offset 0: No space left on device"

(ulimit -f 1000; new | saves "$file")
ended "RLIMIT_FSIZE: an error, not SIGXFSZ" $? 1 failed
is "... with its reason and offset" "$(field error.errno) $(field error.offset) $(field error.end)" \
  "EFBIG 1024000 destination"
check "... the old file is as it was" is_new

saves "$file" < "$T"
ended "stdin is a folder" $? 2 usage

# ---- small file systems ---------------------------------------------------------------

if [ "$(id -u)" = 0 ]; then
  for place in "tmpfs 1M" "loop_fs ext4 2M"; do
    # shellcheck disable=SC2086 # a function and its arguments
    small=$($place) || { skip "no space on $place" "it cannot be made"; continue; }
    for mode in auto drop keep; do
      printf old > "$small/file"
      new | saves --cache="$mode" "$small/file"
      ended "no space on ${place#* }, --cache=$mode" $? 9 no-space
      is "... the line names file, offset and reason" "$(sed 's/offset [0-9]*/offset N/' "$err")" \
        "iohelper: writing '$small/file' at offset N: No space left on device"
      is "... the record has the same offset and errno" "$(field error.errno) $(field error.offset)" \
        "ENOSPC $(sed 's/.*offset \([0-9]*\).*/\1/' "$err")"
      is "... the old file is there, and nothing else" \
        "$(cat "$small/file")$(find "$small" -name '*iohelper*')" old
    done
  done
else
  skip "no space on small file systems" "root is needed"
fi

# ---- the record ------------------------------------------------------------------------

# Every key of status.h with its type; "?" before one that may be null.
keys='version=int program=str mode=str direction=str file=?str outcome=str exit_status=?int
 bytes=int seconds=float throughput=int engine=?str engine_why=?str cache=?str cache_why=?str
 pipe_size=?int buffer_size=int data_plane=str error=?dict'
save_keys='sync=str synced=bool evidence=str format=str target=str'
well_formed () # FILE KEY=TYPE...
{
  "$PYTHON" -c '
import json, sys
text = open(sys.argv[1]).read()
assert text.endswith("}\n") and text.count("\n") == 1, "not one line"
record = json.loads(text)
for wish in " ".join(sys.argv[2:]).split():
    key, kind = wish.split("=")
    value = record.pop(key)
    if not (value is None and kind[0] == "?"):
        assert type(value).__name__ == kind.strip("?"), (key, value)
assert not record, ("more keys", record)' "$@"
}
new | saves "$file"
check "a save's record has every key with its type, and no other" \
  well_formed "$record" "$keys" "$save_keys"
is "... version, mode, direction, file" \
  "$(field version) $(field mode) $(field direction) $(field file)" "1 operator save $file"
restores "$file" > "$T/out"
check "a restore's record has every key with its type, and no other" well_formed "$record" "$keys"
restores "$T/missing" > "$T/out"
check "a failed one's, too" well_formed "$record" "$keys"
check "... and its error has every part" "$PYTHON" -c '
import json, sys
error = json.load(open(sys.argv[1]))["error"]
assert sorted(error) == ["end", "errno", "message", "offset", "operation", "text"], error
assert error["end"] == "source" and error["operation"] == "opening", error
assert error["errno"] == "ENOENT" and error["offset"] is None, error' "$record"
odd=$T/$'od\xffd'
new | saves "$odd"
is "a file name that is not UTF-8 is null in the record" "$? $(field file)" "0 null"
restores "$T"/$'\xff\xc3\xa9\xed\xa0\x80\xc3' > "$T/out"
is "... and in a message, which is for people, each byte that is no character is '?'" \
  "$(field error.message)" "opening '$T/?é????': No such file or directory"
quoted=$T/$'q"\\\nq'
new | saves "$quoted"
is "quotes, backslashes and line ends in a name survive the record" "$(field file)" "$quoted"

# QEMU throws the status away: the record is all that a manager can look at.
wrong_option ()
{
  printf '{"version":1,"outcome":"committed"}\n' > "$record"
  saves --cache=nonsense "$file" < /dev/null
  [ "$?" = 2 ] && { [ ! -e "$record" ] || [ "$(field outcome)" = usage ]; }
}
check "after a wrong option no stale record is left" wrong_option
precious ()
{
  printf 'precious\n' > "$T/precious"
  new | run 60 "$IOHELPER" save --result="$T/precious" "$file" 2> "$err"
  [ "${PIPESTATUS[1]} $(cat "$T/precious")" = "2 precious" ]
}
check "a --result that is no record of ours is refused, not replaced" precious
stale ()
{
  local pid
  mkfifo "$T/in"
  "$IOHELPER" save --result="$record" "$file" < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  wait_for 10 pgrep -P "$pid" || return 1
  [ ! -e "$record" ] || return 1
  kill -KILL "$pid"
  wait "$pid"
  exec 5>&-
  [ ! -e "$record" ]
}
check "a stale record is removed at the start, and SIGKILL leaves none" stale

new | saves --result-fd=8 "$file" 8> "$T/by-fd"
check "--result-fd gets the same record" cmp "$record" "$T/by-fd"
watched ()
{
  mkdir "$T/records"
  new | run 60 "$IOHELPER" save --result="$T/records/one" "$file" || return 1
  [ "$(ls -A "$T/records")" = one ] && [ "$(stat -c %a "$T/records/one")" = 600 ]
}
check "--result leaves no temporary file, and is closed to others" watched

# ---- --quiet, --verbose -------------------------------------------------------------------

new | saves --quiet /dev/full
is "--quiet: a failure says nothing, the status does" "$? $(cat "$err")" "9 "
new | saves --verbose "$file"
is "--verbose: one line says what was done" \
  "$? $(grep -c "^iohelper: committed '$file', .*evidence eof" "$err") $(wc -l < "$err")" "0 1 1"

done_testing
