#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# f-kill9.sh - SIGKILL at any moment, of the controller or of the worker: FILE is
# the old or the whole new file, at most one temporary file is left, the next
# save removes it, and no process stays.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
: "${FAULT:=$top_builddir/tests/fault}"
need_cmd "$PYTHON" pgrep

d=$T/d file=$T/d/vm record=$T/record err=$T/err
size=1200077
mkdir "$d"
"$FAKE_VM" write --kind=qemu --size=$size > "$T/stream"
"$FAKE_VM" write --size=500000 --seed=7 > "$T/old"
no_leak_check

with_old () { rm -rf "$d"; mkdir "$d"; cp "$T/old" "$file"; chmod 600 "$file"; }
left () { find "$d" -name '.vm.iohelper-*' | wc -l; }
field () { json "$record" "$1"; }

# Prints old or new; else what is wrong with FILE and its folder.
state ()
{
  if cmp -s "$file" "$T/old"; then echo old
  elif cmp -s "$file" "$T/stream"; then echo new
  else echo "neither the old nor the new file: $(stat -c %s "$file" 2>&1) bytes"; fi
}

# What must hold after a kill; prints what does not.  $1: who was killed.
aftermath ()
{
  local now outcome="" target=""
  now=$(state)
  case $now in old | new) ;; *) echo "$now" ;; esac
  [ "$(left)" -le 1 ] || echo "$(left) temporary files are left"
  if [ -e "$record" ]; then outcome=$(field outcome) target=$(field target); fi
  case $1-$outcome-$target-$now in
    *-committed-new-new | worker-failed-unknown-* | worker-failed-untouched-old | controller---*) ;;
    'worker-failed-new, durability unknown-new') ;;
    *) echo "the record says '$outcome', '$target'; the file is $now; $(cat "$err")" ;;
  esac
  [ "$(left)" = 0 ] && return
  run 20 "$IOHELPER" save --quiet "$file" < "$T/stream" || echo "the next save fails"
  [ "$(state)" = new ] || echo "the next save leaves $(state)"
  [ "$(left)" = 0 ] || echo "the next save leaves the temporary file"
}

# ---- at each system call ---------------------------------------------------------

# WHO NAME [WRAP...]: killed before each call that it makes, one after the other.
at_each_call ()
{
  local who=$1 name=$2 n bad=0 old=0 new=0 temps=0 wrong calls
  shift 2
  with_old
  rm -f "$record"
  run 20 "$@" "$FAULT" --log="$T/log" -- "$IOHELPER" save --buffer-size=128K --result="$record" "$file" \
    < "$T/stream" 2> "$err"
  is "$name, not killed: committed" "$? $(state) $(left)" "0 new 0"
  # Where nothing changes that anybody could see, one kill is as good as another.
  mapfile -t calls < <(awk -v who="$who" '
    $1 == who && ++n && $2 !~ /^(rt_sig.*|get.*id|brk|mprotect|prlimit64|futex)$/ { print n }' "$T/log")
  for n in "${calls[@]}"; do
    with_old
    rm -f "$record"
    run 10 "$@" "$FAULT" --log="$T/log" "$who:any:$n:KILL" -- "$IOHELPER" save --buffer-size=128K \
      --result="$record" "$file" < "$T/stream" 2> "$err"
    if [ "$?" = 124 ]; then
      wrong="a process stays"
    else
      if [ "$(state)" = old ]; then old=$((old + 1)); else new=$((new + 1)); fi
      temps=$((temps + $(left)))
      wrong=$(aftermath "$who")
    fi
    [ -n "$wrong" ] || continue
    bad=$((bad + 1))
    diag "$who killed at its call $n ($(grep "^$who " "$T/log" | tail -n 1)): $wrong"
  done
  is "$name, $who killed at each of its calls: old or new, tidy, true (${#calls[@]} kills)" "$bad" 0
  diag "$old times the old file, $new times the new one, $temps temporary files left"
  is "... both before and after the commit" "$((old > 0)) $((new > 0))" "1 1"
}

if "$FAULT" -- true; then
  for who in controller worker; do
    at_each_call $who "save over a file"
    at_each_call $who "save without O_TMPFILE" "$PYTHON" "$top_srcdir/tests/no-tmpfile.py"
  done
else
  skip "killed at each call" "processes cannot be traced here"
fi

# ---- in the middle of a stream ---------------------------------------------------

# All that has the folder's files open.
users () { find /proc/[0-9]*/fd -lname "$d*" 2> /dev/null | cut -d / -f 3 | sort -u; }
nobody () { [ -z "$(users)" ]; }
stalled () { grep -q stalled "$T/vm.err"; }
# The worker has taken all that came and waits for more.
worker_waits () { worker=$(pgrep -P "$helper") && grep -q pipe "/proc/$worker/wchan" && pipe_is_empty; }
pipe_is_empty ()
{
  "$PYTHON" -c '
import array, fcntl, sys, termios
n = array.array("i", [1])
fcntl.ioctl(open(sys.argv[1], "rb"), termios.FIONREAD, n)
sys.exit(n[0] != 0)' "/proc/$worker/fd/0"
}

RANDOM=9
bad=0 kills=60
mkfifo "$T/in"
for ((i = 0; i < kills; i++)); do
  offset=$(((RANDOM * 32768 + RANDOM) % size))
  with_old
  rm -f "$record"
  "$FAKE_VM" write --kind=qemu --size=$size --stall-at=$offset > "$T/in" 2> "$T/vm.err" &
  vm=$!
  if ((i % 3 == 0)); then
    "$PYTHON" "$top_srcdir/tests/no-tmpfile.py" "$IOHELPER" save --result="$record" "$file" < "$T/in" 2> "$err" &
  else
    "$IOHELPER" save --result="$record" "$file" < "$T/in" 2> "$err" &
  fi
  helper=$! wrong=""
  wait_for 10 stalled || wrong="no stall at $offset"
  wait_for 10 worker_waits || wrong="$wrong the worker does not wait"
  if ((i % 2)); then
    kill -KILL "$helper"
    who=controller
  else
    kill -KILL "$worker"
    who=worker
  fi
  wait "$helper" 2> /dev/null
  wait_for 5 nobody || wrong="$wrong a process stays: $(users)"
  [ "$(state)" = old ] || wrong="$wrong the file is $(state)"
  wrong="$wrong$(aftermath $who)"
  kill -KILL "$vm" 2> /dev/null
  wait "$vm" 2> /dev/null
  [ -n "$wrong" ] || continue
  bad=$((bad + 1))
  diag "$who killed at offset $offset: $wrong"
done
is "controller or worker killed in mid-stream, at $kills offsets: old file, tidy, no process" "$bad" 0

done_testing
