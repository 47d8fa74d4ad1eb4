# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# lib.sh - what the test scripts share.  A script (#!/bin/bash) sources it first
# and ends with done_testing; it prints TAP.
#
#   ok SENTENCE / not_ok SENTENCE        one result
#   check SENTENCE COMMAND...            ok if COMMAND exits 0; else shows its output
#   check_fails SENTENCE COMMAND...      ok if COMMAND exits with 1 to 123
#   is SENTENCE GOT WANT                 ok if they are the same
#   skip SENTENCE REASON                 not run; a failure with IOH_NO_SKIP=1
#   skip_all REASON                      nothing in this script can be run
#   need_root / need_cmd NAME...         skip_all where that is missing
#   bail_out TEXT                        nothing in this script would mean anything
#   diag TEXT                            explains
#   run SECONDS COMMAND...               COMMAND, ended after that time (status 124)
#   wait_for SECONDS COMMAND...          until COMMAND exits 0; 1 when the time is up
#   json FILE KEY                        a value of a JSON record; KEY may be error.errno
#   shim VAR=VALUE... COMMAND...         COMMAND with shim-io preloaded (SHIM_MAX=1 ...)
#   empty_env [-C DIR] VAR=VALUE... COMMAND   COMMAND without the environment, 60 s
#   no_leak_check                        from here on: leak checkers trace, and fail when traced
#   loop_dev SIZE [SECTOR]               prints a new block device
#   loop_fs TYPE SIZE [SECTOR]           prints where a new ext4, xfs or btrfs is mounted
#   tmpfs SIZE                           prints where a new tmpfs is mounted
#
# Variables: $T is a folder of this script's own, on a disk; $IOHELPER, $FAKE_VM,
# $SHIM_IO are programs under test; $top_srcdir and $top_builddir are absolute.
#
# Whatever happens, also on SIGKILL of the script: its processes are ended, and
# all that is mounted or attached under $T is undone.  For that, and as a
# backstop after $TEST_TIMEOUT seconds (300), sourcing this file runs the script
# once more as a child with a process group of its own.
#
# Results are counted in the script's own shell: none in ( ... ) or a pipeline.

set -u
export LC_ALL=C

if [ -z "${top_srcdir:-}" ]; then
  top_srcdir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fi
if [ -z "${top_builddir:-}" ]; then
  top_builddir=$top_srcdir
  if [ -x tests/fake-vm ]; then top_builddir=$PWD; fi
fi
: "${IOHELPER:=$top_builddir/iohelper/iohelper}"
: "${FAKE_VM:=$top_builddir/tests/fake-vm}"
: "${SHIM_IO:=$top_builddir/tests/.libs/shim-io.so}"
# In PATH it may be a script that picks a version, which the shim would hit.
if [ -x /usr/bin/python3 ]; then : "${PYTHON:=/usr/bin/python3}"; fi
: "${PYTHON:=python3}"
: "${TEST_TIMEOUT:=300}"
export T top_srcdir top_builddir IOHELPER FAKE_VM SHIM_IO PYTHON

# ---- the outer run: a folder, a time limit, and tidying up ------------------

# O_DIRECT means little on tmpfs.
lib_make_folder ()
{
  local place
  for place in "${TMPDIR:-}" "$top_builddir" /var/tmp; do
    if [ -n "$place" ] && [ -w "$place" ] && [ "$(stat -f -c %T "$place")" != tmpfs ]; then
      mktemp -d "$(cd "$place" && pwd -P)/t-XXXXXXXX" && return
    fi
  done
  echo "Bail out! no writable folder on a disk; set TMPDIR"
  return 1
}

lib_tidy ()
{
  local target device
  # Later mounts may hide earlier ones: last first.
  while read -r target; do
    umount "$target" 2>/dev/null || umount -l "$target" || :
  done < <(tac /proc/self/mounts | cut -d ' ' -f 2 | grep -F "$T/")
  while read -r device; do
    losetup -d "$device"
  done < <(losetup -l -n -O NAME,BACK-FILE 2>/dev/null | grep -F " $T/" | cut -d ' ' -f 1)
  chmod -R u+rwX "$T" 2>/dev/null
  rm -rf --one-file-system "$T"
}

if [ -z "${LIB_INNER:-}" ]; then
  T=$(lib_make_folder) || { echo "$T"; exit 99; }
  export T
  # timeout makes itself the leader of a process group, and its child does not
  # ignore SIGINT and SIGQUIT as a script's background job otherwise does.
  LIB_INNER=1 timeout -k 10 "$TEST_TIMEOUT" "$BASH" "$0" "$@" < /dev/null &
  lib_group=$!
  trap 'kill -TERM "$lib_group" 2>/dev/null' TERM INT HUP
  # A trap ends the wait too early; and bash need not tell who was killed.
  while
    wait "$lib_group" 2>/dev/null
    lib_status=$?
    kill -0 "$lib_group" 2>/dev/null
  do :; done
  kill -KILL -- "-$lib_group" 2>/dev/null
  lib_tidy
  if [ "$lib_status" = 124 ] || [ "$lib_status" = 137 ]; then
    echo "Bail out! the script did not end within $TEST_TIMEOUT s (TEST_TIMEOUT)"
  fi
  exit "$lib_status"
fi
unset LIB_INNER

# ---- results ----------------------------------------------------------------

lib_run=0
lib_failed=0

diag ()
{
  printf '%s\n' "$*" | sed 's/^/# /'
}

# A number sign would begin a directive.
ok ()
{
  lib_run=$((lib_run + 1))
  printf 'ok %d - %s\n' "$lib_run" "${1//#/no.}"
}

not_ok ()
{
  lib_run=$((lib_run + 1))
  lib_failed=$((lib_failed + 1))
  printf 'not ok %d - %s\n' "$lib_run" "${1//#/no.}"
}

lib_show ()
{
  diag "exit status $1"
  tail -n 40 "$T/.output" | cut -c 1-400 | tr -c '[:print:]\t\n' '?' | sed 's/^/# /'
}

check ()
{
  local sentence=$1 status=0
  shift
  "$@" > "$T/.output" 2>&1 || status=$?
  if [ "$status" = 0 ]; then
    ok "$sentence"
  else
    not_ok "$sentence"
    lib_show "$status"
  fi
  return "$status"
}

# Not by a signal, nor by a program that is missing or ran out of time.
check_fails ()
{
  local sentence=$1 status=0
  shift
  "$@" > "$T/.output" 2>&1 || status=$?
  if [ "$status" -ge 1 ] && [ "$status" -le 123 ]; then
    ok "$sentence"
  else
    not_ok "$sentence"
    lib_show "$status"
  fi
}

is ()
{
  if [ "$2" = "$3" ]; then
    ok "$1"
  else
    not_ok "$1"
    diag "got  '$2'"
    diag "want '$3'"
    return 1
  fi
}

skip ()
{
  if [ "${IOH_NO_SKIP:-}" = 1 ]; then
    not_ok "$1"
    diag "not run: $2"
  else
    lib_run=$((lib_run + 1))
    printf 'ok %d - %s # SKIP %s\n' "$lib_run" "${1//#/no.}" "$2"
  fi
}

skip_all ()
{
  if [ "${IOH_NO_SKIP:-}" = 1 ]; then
    not_ok "the script's needs are met"
    diag "not run: $1"
    done_testing
  elif [ "$lib_run" = 0 ]; then
    echo "1..0 # SKIP $1"
    exit 0
  else
    skip "the rest of the script" "$1"
    done_testing
  fi
}

bail_out ()
{
  echo "Bail out! $1"
  exit 99
}

done_testing ()
{
  echo "1..$lib_run"
  if [ "$lib_failed" != 0 ]; then
    diag "$lib_failed of $lib_run failed"
    exit 1
  fi
  exit 0
}

need_root ()
{
  [ "$(id -u)" = 0 ] || skip_all "root is needed"
}

need_cmd ()
{
  local name
  for name; do
    command -v "$name" > /dev/null || skip_all "the program '$name' is needed"
  done
}

# ---- running and waiting ----------------------------------------------------

# In the script's process group, so that the backstop reaches it.
run ()
{
  timeout --foreground -k 5 "$@"
}

wait_for ()
{
  local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000))
  shift
  until "$@" > /dev/null; do
    [ "${EPOCHREALTIME/./}" -lt "$deadline" ] || return 1
    sleep 0.02
  done
}

json ()
{
  "$PYTHON" -c '
import json, sys
v = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    if not isinstance(v, dict) or key not in v:
        sys.exit(1)
    v = v[key]
print(v if isinstance(v, str) else json.dumps(v))' "$1" "$2"
}

# Sanitizers want to be loaded first and are told that this is meant.
shim ()
{
  env ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS:-}" LD_PRELOAD="$SHIM_IO" "$@"
}

# What a checker is told stays: where to put its report.
empty_env ()
{
  local folder=.
  if [ "$1" = -C ]; then folder=$2; shift 2; fi
  run 60 env -i -C "$folder" ${ASAN_OPTIONS+"ASAN_OPTIONS=$ASAN_OPTIONS"} \
    ${UBSAN_OPTIONS+"UBSAN_OPTIONS=$UBSAN_OPTIONS"} "$@"
}

no_leak_check ()
{
  export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"
}

# ---- file systems -----------------------------------------------------------

loop_dev ()
{
  local image
  image=$(mktemp "$T/loop-XXXXXX") || return
  truncate -s "$1" "$image" || return
  losetup --find --show --sector-size "${2:-512}" --direct-io=on "$image" 2>/dev/null \
    || losetup --find --show --sector-size "${2:-512}" "$image"
}

loop_fs ()
{
  local device folder
  device=$(loop_dev "$2" "${3:-512}") || return
  folder=$(mktemp -d "$T/mnt-XXXXXX") || return
  case $1 in
    ext4) set -- mkfs.ext4 -q -F -m 0 -E nodiscard ;;
    xfs) set -- mkfs.xfs -q -f --unsupported ;; # else not below 300 MiB
    btrfs) set -- mkfs.btrfs -q -f ;;
    *) echo "loop_fs: unknown type '$1'" >&2; return 1 ;;
  esac
  "$@" "$device" > "$T/.mkfs" 2>&1 || { cat "$T/.mkfs" >&2; return 1; }
  mount "$device" "$folder" || return
  echo "$folder"
}

tmpfs ()
{
  local folder
  folder=$(mktemp -d "$T/mnt-XXXXXX") || return
  mount -t tmpfs -o "size=$1" tmpfs "$folder" || return
  echo "$folder"
}
