#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# f-fuse.sh - a plain FUSE file system: it has no O_TMPFILE and no rename flags,
# its calls fail one after the other, and it stops answering.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need_cmd "$PYTHON" pgrep
: "${FUSE_PLAIN:=$top_builddir/tests/fuse-plain}"
[ -x "$FUSE_PLAIN" ] || skip_all "libfuse3 was not there when this was built"
[ -c /dev/fuse ] || skip_all "/dev/fuse is needed"

m=$T/m back=$T/back file=$T/m/vm record=$T/record err=$T/err
mkdir "$m"
mkfifo "$T/in"
"$FAKE_VM" write --kind=qemu --size=3145805 > "$T/stream"
"$FAKE_VM" write --size=500000 --seed=7 > "$T/old"
no_leak_check # who is stuck cannot be traced

is_mounted () { grep -q " $m " /proc/self/mounts; }

# RULE...: the file system, mounted, with the old file in it.
mounted ()
{
  rm -rf "$back"
  mkdir "$back"
  cp "$T/old" "$back/vm"
  "$FUSE_PLAIN" "$back" "$m" "$@" 2> "$T/fuse.err" &
  fuse=$!
  wait_for 10 is_mounted || bail_out "no FUSE file system: $(cat "$T/fuse.err")"
}

# With its process gone, all that waits for it goes on.
unmounted ()
{
  kill -KILL "$fuse"
  wait "$fuse" 2> "$T/.killed"
  umount -l "$m"
}

# Seen from behind, where nothing hangs.
only () { [ "$(ls -A "$back")" = vm ] || { ls -lA "$back"; return 1; }; }
is_old () { cmp "$back/vm" "$T/old" && only; }
is_new () { cmp "$back/vm" "$T/stream" && only; }
field () { json "$record" "$1"; }
fields () { local key; for key; do field "$key"; done | tr '\n' ' '; }

relay () # ARGS...
{
  rm -f "$record"
  run 30 "$IOHELPER" "$@" --buffer-size=128K --result="$record" "$file" < "$T/stream" 2> "$err"
  status=$?
}

# ---- all is well -----------------------------------------------------------------

mounted
relay save
is "a save replaces a file on FUSE" "$status $(fields outcome target sync)" "0 committed new full "
check "... whole, and alone" is_new
restored () { relay restore > "$T/out" && [ "$status" = 0 ] && cmp "$T/out" "$T/stream"; }
check "... and is restored" restored
relay save --no-clobber
is "--no-clobber keeps a file that exists" "$status $(fields outcome target)" "8 exists untouched "
check "... as it was" is_new
rm "$file"
relay save --no-clobber
is "... and makes one that does not" "$status $(fields outcome)" "0 committed "
check "... whole, and alone" is_new
unmounted

# ---- one call fails --------------------------------------------------------------

# RULE STATUS ERRNO TEXT
failing ()
{
  local rule=$1 want_status=$2 errno=$3 text=$4
  mounted "$rule"
  relay save
  is "$rule: status, errno and target are told" "$status $(fields error.errno target)" \
    "$want_status $errno untouched "
  is "... on one line" "$(grep -v warning: "$err")" "iohelper: $text"
  check "... the old file is as it was, and alone" is_old
  unmounted
}
failing create=EACCES 2 EACCES \
  "creating a new file for '$file': Permission denied; --in-place would write to the file itself"
failing write:3=ENOSPC 9 ENOSPC "writing '$file' at offset 262144: No space left on device"
failing write:20=EIO 1 EIO "writing '$file' at offset 2490368: Input/output error"
failing fsync=EIO 1 EIO "syncing '$file' at offset 3145805: Input/output error"
failing flush=EDQUOT 9 EDQUOT "closing '$file' at offset 3145805: Disk quota exceeded"
failing rename=EIO 1 EIO "putting in place '$file': Input/output error"

# ---- it stops answering ----------------------------------------------------------

now () { echo "${EPOCHREALTIME/./}"; }

# LIMIT RULE: SIGTERM once a save hangs in that call; it ends within LIMIT s.
hanging ()
{
  local limit=$1 began
  mounted "$2"
  rm -f "$record"
  "$IOHELPER" save --buffer-size=128K --result="$record" "$file" < "$T/stream" 2> "$err" &
  pid=$!
  wait_for 10 grep -q hangs "$T/fuse.err" || diag "nothing hangs"
  began=$(now)
  kill -TERM "$pid"
  wait "$pid" 2> "$T/.killed"
  status=$?
  in_time=$(($(now) - began < limit * 1000000))
}
for rule in write:3=hang fsync=hang flush=hang; do
  hanging 4 "$rule"
  bytes=$(field bytes)
  is "$rule: SIGTERM ends the save in time, the record says what stays" \
    "$status $in_time $(fields outcome data_plane target)" "143 1 cancelled stuck untouched "
  is "... so does the line" "$(cat "$err")" \
    "iohelper: cancelled by SIGTERM after $bytes bytes; '$file' is as it was, a temporary file is left"
  check "... the old file is as it was" cmp "$back/vm" "$T/old"
  unmounted
done

hanging 8 rename=hang
is "rename=hang: SIGTERM ends the save in time, the record says that it is not known" \
  "$status $in_time $(fields outcome data_plane target)" "143 1 cancelled stuck unknown "
unmounted

# Who is stopped takes no request.  Buffered writes wait where they can be killed,
# and so does the helper's worker, where no FLUSH is sent for a dead one's files:
# the kernel learns that from the first.  Who removes the temporary file then waits.
mounted flush=ENOSYS
relay save
is "a save is done where FLUSH is not known" "$status" 0
cp "$T/old" "$back/vm"
rm -f "$record"
"$IOHELPER" save --cache=keep --buffer-size=128K --result="$record" "$file" < "$T/in" 2> "$err" &
pid=$!
exec 5> "$T/in"
head -c 1000000 "$T/stream" >&5
written () { [ "$(find "$back" -name '.vm.*' -size +895k | wc -l)" = 1 ]; } # 7 buffers
stopped () { ! grep '^State' "/proc/$fuse/task/"*/status | grep -qv 'T (stopped)'; }
wait_for 10 written || diag "nothing is written"
kill -STOP "$fuse"
wait_for 10 stopped || diag "the file system goes on"
head -c 1000000 "$T/stream" >&5
unanswered () { local w; w=$(pgrep -P "$pid") && grep -q request_wait "/proc/$w/wchan"; }
wait_for 10 unanswered || diag "nothing hangs"
began=$(now)
kill -TERM "$pid"
wait_for 20 test -s "$record"
in_time=$(($(now) - began < 4000000))
kill -CONT "$fuse"
wait "$pid"
is "the file system is stopped: SIGTERM ends the save in time" \
  "$? $in_time $(fields outcome data_plane target)" "143 1 cancelled killed untouched "
bytes=917504
is "... and the line tells what stays" "$(cat "$err")" \
  "iohelper: cancelled by SIGTERM after $bytes bytes; '$file' is as it was, a temporary file is left"
exec 5>&-
relay save
is "... the next save is done" "$status" 0
check "... and has removed the temporary file" is_new
unmounted

done_testing
