#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# f-short-io.sh - short and interrupted transfers change nothing: a relay among
# them ends with the same bytes and the same record as its untouched twin.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON"
[ -e "$SHIM_IO" ] || skip_all "the preloaded shim is needed"

file=$T/vm log=$T/log

# The record without what differs from run to run.
account ()
{
  "$PYTHON" -c '
import json, sys
r = json.load(open(sys.argv[1]))
for key in "seconds", "throughput", "pipe_size":
    del r[key]
print(json.dumps(r))' "$1"
}

# SIZE: a stream of SIZE bytes in $T/stream.
stream () { "$FAKE_VM" write --kind="$2" --size="$1" > "$T/stream"; }

# One relay, to be run twice: its status, and its bytes in $T/got.
save_file () { rm -f "$file"; "$@" "$IOHELPER" save "${args[@]}" --result="$T/record" "$file" < <(cat "$T/stream"); }
over_file () { echo old > "$file"; chmod 600 "$file"; "$@" "$IOHELPER" save "${args[@]}" --result="$T/record" "$file" < <(cat "$T/stream"); }
save_fd () { : > "$file"; "$@" "$IOHELPER" save "${args[@]}" --result="$T/record" --fd=5 "$file" 5<> "$file" < <(cat "$T/stream"); }
restore_file () { "$@" "$IOHELPER" restore "${args[@]}" --result="$T/record" "$T/stream" | cat > "$file"; return "${PIPESTATUS[0]}"; }
# $T/stream opened with O_DIRECT, as libvirt does with its bypass flag.
libvirt_write () { rm -f "$file"; "$PYTHON" "$top_srcdir/tests/fds.py" 1="$file,wronly,creat$direct" -- env "${@:2}" "$IOHELPER" "$file" 1 < <(cat "$T/stream"); }
libvirt_read () { "$PYTHON" "$top_srcdir/tests/fds.py" 0="$T/stream,rdonly$direct" -- env "${@:2}" "$IOHELPER" "$file" 0 | cat > "$T/out"; local s=${PIPESTATUS[0]}; mv "$T/out" "$file"; return "$s"; }

# NAME FUNCTION SETTINGS...
twins ()
{
  local name=$1 how=$2 status want_status=0 want="" got="" settings
  shift 2
  rm -f "$T/record"
  run_it "$how" env
  want_status=$status
  if [ -e "$T/record" ]; then want=$(account "$T/record"); fi
  is "$name: the untouched twin gives the stream" \
    "$want_status $(cmp "$file" "$T/stream" 2>&1 && echo same)" "0 same"
  for settings; do
    rm -f "$T/record" "$log"
    # shellcheck disable=SC2086 # several assignments in one word
    run_it "$how" env ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS:-}" LD_PRELOAD="$SHIM_IO" \
      $settings SHIM_LOG="$log"
    got=""
    if [ -e "$T/record" ]; then got=$(account "$T/record"); fi
    is "$name with $settings: the same bytes and status" \
      "$status $(cmp "$file" "$T/stream" 2>&1 && echo same)" "$want_status same"
    is "... the same record" "$got" "$want"
    check "... and there were such calls" acted "$settings"
  done
}
run_it () { status=0; "$@" 2> "$T/err" || status=$?; [ ! -s "$T/err" ] || { diag "$(cat "$T/err")"; status=said; }; }
acted ()
{
  case $1 in *SHIM_MAX*) grep -qE '^short p?(read|write)' "$log" || return ;; esac
  case $1 in *SHIM_EINTR*) grep -qE '^eintr p?(read|write)' "$log" || return ;; esac
}

args=(--buffer-size=64K) direct=""
storm="SHIM_EINTR=2"
stream 3145805 qemu
for how in save_file over_file save_fd restore_file; do
  twins "$how" $how SHIM_MAX=4095 "$storm" "SHIM_MAX=4095 $storm" "SHIM_MAX=5000 SHIM_EINTR=7"
done
args=(--buffer-size=64K --cache=drop)
for how in save_file restore_file; do
  twins "$how --cache=drop" $how SHIM_MAX=4095 "$storm" "SHIM_MAX=777 SHIM_EINTR=3"
done
args=(--buffer-size=64K --in-place)
twins "save --in-place" over_file SHIM_MAX=4095 "$storm"

for direct in "" ,direct; do
  for how in libvirt_write libvirt_read; do
    twins "$how$direct" $how SHIM_MAX=4095 "$storm" "SHIM_MAX=1000 SHIM_EINTR=3"
  done
done

# A byte at a time is slow: small streams, of each kind.
args=() direct=,direct
for kind in plain qemu libvirt elf; do
  stream 140001 $kind
  for how in save_file restore_file; do
    twins "$how, $kind" $how SHIM_MAX=1 "SHIM_MAX=1 $storm"
  done
done
for how in libvirt_write libvirt_read; do
  twins "$how, $kind" $how SHIM_MAX=1 "SHIM_MAX=1 SHIM_EINTR=3"
done
args=(--cache=keep)
for how in save_file restore_file; do
  twins "$how --cache=keep, $kind" $how SHIM_MAX=1 "SHIM_MAX=1 $storm"
done

done_testing
