#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# f-fds.sh - too few descriptors, processes or bytes of memory: the helper does
# its work, or says in a line what is wrong and touches nothing; it never hangs.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd prlimit pgrep

d=$T/d file=$T/d/vm err=$T/err record=$T/record
size=1200077
mkdir "$d"
"$FAKE_VM" write --kind=qemu --size=$size > "$T/stream"
"$FAKE_VM" write --size=500000 --seed=7 > "$T/old"

with_old () { rm -rf "$d"; mkdir "$d"; cp "$T/old" "$file"; chmod 600 "$file"; }
tidy () { [ "$(ls -A "$d")" = vm ]; }
# The loader's own complaint, when there is no program yet.
loader () { [ "$status" = 127 ] && grep -q 'error while loading shared libraries' "$err"; }
# One line; a second one only where the record could not be written either.
said_why ()
{
  [ "$(grep '^iohelper: ' "$err" | grep -cv ': writing the record to ')" = 1 ] && ! grep -qv '^iohelper: ' "$err"
}

# FORM COMMAND...: one relay under a limit, COMMAND sets it; in $result:
# done, refused, loader, or what is wrong.
relay ()
{
  local form=$1 got=$file
  shift
  with_old
  rm -f "$record"
  status=0
  case $form in
    save) run 20 "$@" "$IOHELPER" save --result="$record" "$file" < "$T/stream" 2> "$err" || status=$? ;;
    restore) got=$T/out; run 20 "$@" "$IOHELPER" restore --result="$record" "$T/stream" \
      > "$got" 2> "$err" || status=$? ;;
    libvirt) : > "$file"; run 20 "$@" "$IOHELPER" "$file" 1 < "$T/stream" 1<> "$file" 2> "$err" || status=$? ;;
  esac
  if [ "$status" = 0 ]; then
    result='done'
    cmp -s "$got" "$T/stream" || result="status 0, and not the stream"
    if [ "$form" != libvirt ] && ! grep -qE '"outcome":"(committed|delivered)"' "$record"; then
      result="status 0, and no record of it: $(cat "$err")"
    fi
  elif loader; then
    result=loader
  elif [ "$status" -gt 123 ]; then
    result="status $status: $(cat "$err")"
  elif ! said_why; then
    result="status $status, and this on stderr: $(cat "$err")"
  else
    result=refused
  fi
  case $form-$result in
    save-refused | save-loader) cmp -s "$file" "$T/old" || result="the old file is not what it was" ;;
    restore-refused | restore-loader) cmp -s -n "$(stat -c %s "$got")" "$got" "$T/stream" || result="other bytes" ;;
  esac
  tidy || result="left: $(ls -A "$d")"
}

# NAME FORM LIMITS... with LIMITS from nothing to enough; prlimit's option is
# $option.
from_nothing ()
{
  local name=$1 form=$2 limit bad=0 worked=0 refused=0 first=""
  shift 2
  for limit; do
    relay "$form" prlimit "$option=$limit"
    case $result in
      'done') worked=$((worked + 1)) first=${first:-$limit} ;;
      refused | loader) refused=$((refused + 1)); [ "$worked" = 0 ] || { bad=$((bad + 1)); diag "$limit: refused, less was enough: $(cat "$err")"; } ;;
      *) bad=$((bad + 1)); diag "$limit: $result" ;;
    esac
  done
  is "$name, $form: done with a record, or refused in a line and nothing touched" "$bad" 0
  is "... refused with the least, done with the most" "$((refused > 0)) $((worked > 0))" "1 1"
  diag "enough: $first"
}

option=--nofile
for form in save restore libvirt; do
  from_nothing "RLIMIT_NOFILE from 3 to 24" $form $(seq 3 24)
done

# The build without sanitizers has this part: they reserve terabytes.
if grep -q __asan_init "$IOHELPER"; then
  diag "RLIMIT_AS: not tried, this is a sanitized build"
else
  option=--as
  for form in save restore libvirt; do
    from_nothing "RLIMIT_AS from 2 MiB to 24 MiB" $form $(seq 2097152 262144 25165824)
  done
fi

# ---- no process for the worker ------------------------------------------------------

if [ "$(id -u)" != 0 ]; then
  skip "RLIMIT_NPROC" "root is needed to become a user without processes"
elif ! m=$(tmpfs 16M 2> "$T/.why"); then
  skip "RLIMIT_NPROC" "no tmpfs can be mounted here"
else
  cp "$IOHELPER" "$m/iohelper"
  chmod 755 "$m/iohelper"
  chmod 777 "$m"
  cp "$T/stream" "$m/stream"
  chmod 644 "$m/stream"
  user=61180
  # PROCESSES ARGS...: a save there by a new user who may have so many.
  save_with ()
  {
    local processes=$1
    shift
    user=$((user + 1)) status=0
    rm -f "$m/record"
    cp "$T/old" "$m/vm"
    chown $user "$m/vm"
    # All other folders here are closed to that user.
    (cd "$m" && no_leak_check && exec timeout 20 setpriv --reuid=$user --regid=$user --clear-groups \
      prlimit --nproc="$processes" ./iohelper save --result=record vm "$@") < "$T/stream" 2> "$err" || status=$?
  }
  account ()
  {
    echo "$status $(json "$m/record" outcome) $(json "$m/record" error.errno) $(json "$m/record" target)" \
      "$(cmp -s "$m/vm" "$T/old" && echo old)$(cmp -s "$m/vm" "$T/stream" && echo new)"
  }
  save_with 1
  is "no process for the worker: failed, and why" "$(account) $(cat "$err")" \
    "1 failed EAGAIN untouched old iohelper: starting a process for 'the relay': Resource temporarily unavailable"
  save_with 2
  is "one process for the worker: done" "$(account)" "0 committed  new new"
  save_with 1 -- cat stream
  is "no process for COMMAND: failed, and why" "$(account) $(cat "$err")" \
    "1 failed EAGAIN untouched old iohelper: running 'cat': Resource temporarily unavailable"
  save_with 2 -- sleep 60
  is "one for COMMAND, none for the worker: failed, and why" "$(account) $(cat "$err")" \
    "1 failed EAGAIN untouched old iohelper: starting a process for 'the relay': Resource temporarily unavailable"
  none_of_user () { ! pgrep -r R,S,D -u "$user"; }
  check "... COMMAND is ended" wait_for 5 none_of_user
  save_with 3 -- cat stream
  is "one for each: done" "$(account)" "0 committed  new new"
fi

done_testing
