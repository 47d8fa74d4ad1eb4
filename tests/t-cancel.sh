#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-cancel.sh - whatever a relay waits for, a signal ends it in bounded time and
# leaves the old file; and nothing is committed of a stream whose writer died.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON" pgrep strace

file=$T/vm.sav record=$T/record err=$T/err
field () { json "$record" "$1"; }
with_old () { printf old > "$file"; }
as_before () { [ "$(cat "$file")" = old ] && [ -z "$(find "$T" -name '*.iohelper-*')" ]; }

# Whatever the last test left.
fresh ()
{
  exec 5>&- 6>&-
  if [ -n "${pid:-}" ]; then kill -KILL "$pid" 2> /dev/null; fi
  rm -f "$record"
  with_old
}

now () { echo "${EPOCHREALTIME/./}"; }
worker () { pgrep -P "$pid"; }
# waits WORD: the worker sleeps in the kernel function of that name
waits () { local w; w=$(worker) && grep -q "$1" "/proc/$w/wchan"; }
ended () { ! kill -0 "$pid" 2> /dev/null; }

# killed_by SIGNAL NUMBER: it dies of that signal within 2 s, and says so
killed_by ()
{
  local began status
  began=$(now)
  kill "-$1" "$pid"
  wait "$pid"
  status=$?
  [ "$status" = $((128 + $2)) ] || { echo "status $status"; return 1; }
  [ $(($(now) - began)) -lt 2000000 ] || { echo "too slow"; return 1; }
  [ "$(field outcome) $(field signal) $(field exit_status) $(field data_plane)" = "cancelled SIG$1 null ended" ] \
    || { cat "$record"; return 1; }
  if [ "$(wc -l < "$err")" != 1 ] || ! grep -q "cancelled by SIG$1" "$err"; then
    cat "$err"
    return 1
  fi
}

# ---- what it may wait for --------------------------------------------------------

mkfifo "$T/in" "$T/fifo"
in_empty_pipe ()
{
  fresh
  "$IOHELPER" save --result="$record" "$file" < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  wait_for 10 waits pipe_read || return 1
  killed_by "$@" || return 1
  exec 5>&-
  as_before && [ "$(field target) $(field bytes)" = "untouched 0" ]
}
in_mid_stream ()
{
  fresh
  "$IOHELPER" save --result="$record" "$file" < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  "$FAKE_VM" write --size=3000001 >&5
  wait_for 10 waits pipe_read || return 1
  killed_by "$@" || return 1
  exec 5>&-
  as_before && [ "$(field target)" = untouched ]
}
in_full_pipe ()
{
  fresh
  exec 6<> "$T/in" # a reader that never reads
  "$IOHELPER" restore --result="$record" "$T/big" > "$T/in" 2> "$err" &
  pid=$!
  wait_for 10 waits pipe_write || return 1
  killed_by "$@" || return 1
  exec 6>&-
}
in_opening ()
{
  fresh
  "$IOHELPER" "$direction" --result="$record" "$T/fifo" < /dev/null > "$T/out" 2> "$err" &
  pid=$!
  wait_for 10 waits wait_for_partner || return 1 # where open(2) of a FIFO sleeps
  killed_by "$@" || return 1
  [ -p "$T/fifo" ]
}
in_command ()
{
  fresh
  "$IOHELPER" save --result="$record" "$file" -- sleep 4321 2> "$err" &
  pid=$!
  wait_for 10 pgrep -P "$pid" sleep || return 1
  killed_by "$@" || return 1
  as_before && ! pgrep -f 'sleep 4321'
}

"$FAKE_VM" write --size=5000003 > "$T/big"
for signal in "TERM 15" "INT 2" "HUP 1" "QUIT 3"; do
  # shellcheck disable=SC2086 # name and number
  check "SIG${signal% *}, a save that waits for its stream: dies of it, all is as before" \
    in_empty_pipe $signal
done
check "SIGTERM, a save in mid-stream: likewise" in_mid_stream TERM 15
check "SIGTERM, a restore whose reader does not read: dies of it" in_full_pipe TERM 15
for direction in save restore; do
  check "SIGINT, a $direction that waits for the other end of a FIFO: dies of it" in_opening INT 2
done
check "SIGTERM, a save with a command: both end" in_command TERM 15

# ---- once its commit has begun ----------------------------------------------------

: "${FAULT:=$top_builddir/tests/fault}"

# in_commit CALL NUMBER: SIGTERM while the worker is held at that call; prints
# outcome, data plane, target, and which file is there.
in_commit ()
{
  local began status controller
  fresh
  rm -f "$T/log"
  "$FAULT" --log="$T/log" "worker:$1:$2:HOLD" -- "$IOHELPER" save --result="$record" "$file" \
    < "$T/big" 2> "$err" &
  pid=$!
  wait_for 10 grep -q '^fault' "$T/log" || return 1
  controller=$(pgrep -P "$pid")
  began=$(now)
  kill -TERM "$controller"
  wait "$pid"
  status=$?
  [ "$status" = 143 ] || { echo "status $status"; return 1; }
  [ $(($(now) - began)) -lt 8000000 ] || { echo "too slow"; return 1; }
  grep -q "given up by SIGTERM while committing" "$err" || { cat "$err"; return 1; }
  if cmp -s "$file" "$T/big"; then status=new; else status=$(cat "$file"); fi
  echo "$(field outcome) $(field data_plane) '$(field target)' $status"
  find "$T" -name '.*.iohelper-*' -delete
}
is "SIGTERM, a save that hangs in its rename: given up in time, the record says 'unknown'" \
  "$(in_commit renameat 1)" "cancelled killed 'unknown' old"
is "... that hangs in the sync of the directory: the new file is there, its durability unknown" \
  "$(in_commit fsync 2)" "cancelled killed 'new, durability unknown' new"

# A commit that comes to its end in time is a commit.
slow_commit ()
(
  local controller
  no_leak_check
  fresh
  strace -f -o "$T/log" -e trace=fsync -e inject=fsync:delay_exit=1000000:when=2 \
    "$IOHELPER" save --quiet --result="$record" "$file" < "$T/big" 2> "$err" &
  pid=$!
  wait_for 10 placed || return 1
  controller=$(pgrep -P "$pid")
  kill -TERM "$controller"
  wait "$pid" || return 1
  [ "$(field outcome) $(field exit_status) $(field target)" = "committed 0 new" ] && grep -q SIGTERM "$T/log"
)
placed () { cmp -s "$file" "$T/big"; }
check "SIGTERM, a save whose last sync takes a while: committed all the same" slow_commit

# ---- signals of the parent -----------------------------------------------------------

# Blocked and ignored by whoever starts it.
deaf ()
{
  fresh
  "$PYTHON" -c '
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGPIPE):
    signal.signal(number, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$IOHELPER" save --result="$record" "$file" < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  wait_for 10 waits pipe_read || return 1
  killed_by TERM 15 || return 1
  exec 5>&-
  as_before
}
check "a parent that blocks all signals and ignores SIGTERM and SIGCHLD: no difference" deaf

nohup_kept ()
{
  fresh
  (trap '' HUP; exec "$IOHELPER" save --result="$record" "$file") < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  wait_for 10 waits pipe_read || return 1
  kill -HUP "$pid"
  wait_for 10 idle || return 1
  printf new >&5
  exec 5>&-
  wait "$pid" && [ "$(cat "$file")" = new ]
}
# Whatever came to the controller, it is done with it.
idle () { grep -qE "ep_poll|epoll" "/proc/$pid/wchan" && waits pipe_read; }
check "an ignored SIGHUP stays ignored (nohup): the save ends well" nohup_kept

# ---- a process of it is killed ----------------------------------------------------------

controller_killed ()
{
  local w
  fresh
  "$IOHELPER" save --result="$record" "$file" < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  printf new >&5
  wait_for 10 waits pipe_read || return 1
  w=$(worker)
  kill -KILL "$pid"
  wait "$pid"
  wait_for 5 test ! -e "/proc/$w" || { echo "the worker lives"; return 1; }
  exec 5>&-
  as_before && [ ! -e "$record" ]
}
check "SIGKILL of the controller: its worker ends, all is as before, no record" controller_killed

worker_killed ()
{
  fresh
  "$IOHELPER" save --result="$record" "$file" < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  printf new >&5
  wait_for 10 waits pipe_read || return 1
  kill -KILL "$(worker)"
  wait "$pid"
  [ "$?" = 1 ] || return 1
  exec 5>&-
  as_before && [ "$(field outcome) $(field data_plane) $(field target)" = "failed killed untouched" ] \
    && [ "$(wc -l < "$err")" = 1 ]
}
check "SIGKILL of the worker: failed, in one line and in the record; all is as before" worker_killed

worker_killed_in_place ()
{
  fresh
  "$IOHELPER" save --in-place --buffer-size=4K --result="$record" "$file" < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  head -c 10000 "$T/big" >&5
  wait_for 10 waits pipe_read || return 1
  kill -KILL "$(worker)"
  wait "$pid"
  exec 5>&-
  [ "$(field outcome) $(field target)" = "failed partial" ]
}
check "... in place: the record says 'partial'" worker_killed_in_place

# ---- the writer is killed ------------------------------------------------------------------

size=2000003
offsets='1 3 4 100 4095 4096 65536 131328 500000 1048576 1048577 1500000'
offsets="$offsets $((size - 100000)) $((size - 5000)) $((size - 100)) $((size - 1))"
writer_killed ()
{
  local at
  for at in $offsets; do
    fresh
    { "$FAKE_VM" write --kind="$1" --size="$size" --die-at="$at"; :; } 2> /dev/null \
      | "$IOHELPER" save "${@:2}" --result="$record" "$file" 2> "$err"
    if [ "${PIPESTATUS[1]} $(field outcome)" != "3 truncated" ] || ! as_before; then
      echo "killed at $at: $(cat "$record")"
      return 1
    fi
  done
}
# So short a stream has no magic yet: it ends well but for a requirement.
offsets=${offsets#1 3 }
for kind in qemu elf; do
  check "the writer of a $kind stream is killed: truncated, wherever that was" writer_killed "$kind"
done
offsets="1 3 $offsets"
check "... with --require=qemu also before its magic" writer_killed qemu --require=qemu
check "... with --expect-length a plain stream, too" writer_killed plain --expect-length=$size

# ---- stopped ----------------------------------------------------------------------------------

# A producer that never blocks sees EAGAIN once the relay is full.
cat > "$T/flood.py" << 'END'
import os, select, sys
os.set_blocking(1, False)
total = 0
while total < 1 << 30:
    try:
        total += os.write(1, bytes(65536))
    except BlockingIOError:
        if not select.select([], [1], [], 1.0)[1]:
            print("EAGAIN", total, file=sys.stderr)
            os.set_blocking(1, True)
            os.write(1, b"end")
            sys.exit(0)
print("no end", file=sys.stderr)
END
stopped ()
{
  local before
  fresh
  "$IOHELPER" save --result="$record" /dev/null < "$T/in" 2> "$err" &
  pid=$!
  exec 5> "$T/in"
  wait_for 10 waits pipe_read || return 1
  kill -STOP "$pid"
  "$PYTHON" "$T/flood.py" >&5 2> "$T/flood" &
  exec 5>&-
  wait_for 20 grep -q . "$T/flood"
  kill -CONT "$pid"
  wait "$pid" || return 1
  cat "$T/flood"
  read -r _ before < "$T/flood"
  grep -q EAGAIN "$T/flood" && [ "$before" -le $((32 << 20)) ] && [ "$(field bytes)" = $((before + 3)) ]
}
check "SIGSTOP stops the relay: a non-blocking producer sees EAGAIN within 32 MiB, and SIGCONT goes on" stopped

done_testing
