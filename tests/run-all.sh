#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run-all.sh - installs what is missing, builds with both compilers, and runs
# the suite, real QEMU and real libvirt, then the suite again under sanitizers
# and valgrind, and some of it from the tarball.  Each run has a build folder of
# its own, so that all their results are counted.
#
# The last line counts what the TAP results say: "N passed, N failed, N skipped".
# A skip is a failure here: IOH_NO_SKIP=1.
# shellcheck source=tests/setup.sh
set -u
cd "$(dirname "$0")/.." || exit 1
top=$PWD
out=${IOH_BUILD_DIR:-$top/build-all}
jobs=$(nproc)
broken=

. tests/setup.sh
setup_packages all || exit 1

IOH_NO_SKIP=1
export IOH_NO_SKIP

say () { printf '\n=== %s (%s s)\n' "$1" "$(($(date +%s) - began))"; }

# shellcheck disable=SC2317 # the functions below are called through step

# Runs a step, shows only what went wrong, and goes on: one run tells all.
step () {
  name=$1
  shift
  say "$name"
  log=$out/$(echo "$name" | tr -c 'a-z0-9\n' '-').log
  if "$@" >"$log" 2>&1; then
    grep -E '^# (TOTAL|FAIL|SKIP|ERROR):' "$log"
  else
    broken="$broken [$name]"
    echo "--- $name failed; the end of its log:"
    grep -aE '^(not ok|ERROR|FAIL|Bail out|[^ ]*error:)|: error:|Error [0-9]' "$log" | head -n 60
    tail -n 40 "$log"
  fi
}

build () { # DIRECTORY CONFIGURE-ARGUMENTS...
  mkdir -p "$out/$1" || return 1
  (
    cd "$out/$1" || exit 1
    shift
    "$top/configure" --enable-werror "$@" && make -j"$jobs" all
  )
}

check () { # DIRECTORY MAKE-ARGUMENTS...
  dir=$out/$1
  shift
  make -C "$dir" -j"$jobs" "$@"
}

# Automake's .trs files hold one ":test-result:" line for each TAP line.
count () {
  find "$out" -name '*.trs' -exec grep -ahE '^:test-result: '"$1" {} + 2>/dev/null | wc -l
}

# What a tarball could lack: sources, scripts, and what these read.
dist_tests='$(unit_tests) $(shape_tests) tests/t-usage.sh tests/t-save-restore.sh'

began=$(date +%s)
rm -rf "$out"
mkdir -p "$out" || exit 1
step 'autoreconf' autoreconf -fi
step 'build with gcc' build gcc
step 'check' check gcc check
step 'check-qemu' check gcc check-qemu
step 'check-libvirt' check gcc check-libvirt
# Debian 12's valgrind cannot read clang's DWARF 5.
step 'build with clang' build clang CC=clang CFLAGS='-gdwarf-4 -O2'
step 'build the tests with clang' check clang check TESTS=
step 'check-valgrind' check clang check-valgrind
step 'build with address and undefined' \
  build asan CC=clang --enable-sanitizers=address,undefined CFLAGS='-O1 -g'
step 'check-sanitized' check asan check-sanitized
step 'build with thread' build tsan --enable-sanitizers=thread CFLAGS='-O1 -g'
step 'check-threads' check tsan check-threads
step 'distcheck' check clang distcheck TESTS="$dist_tests"

say 'done'
passed=$(count '(PASS|XFAIL)')
failed=$(count '(FAIL|XPASS|ERROR)')
skipped=$(count SKIP)
status=0
[ -z "$broken" ] || { echo "steps that failed:$broken"; status=1; }
[ "$passed" -gt 0 ] || { echo "no test ran"; status=1; }
[ "$failed" = 0 ] && [ "$skipped" = 0 ] || status=1
[ $status = 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "$passed passed, $failed failed, $skipped skipped"
exit $status
