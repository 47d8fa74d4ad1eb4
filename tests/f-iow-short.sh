#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# f-iow-short.sh - the library's reads and writes give the same results when the
# kernel moves less than asked for, or interrupts its calls.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

# SENTENCE SETTINGS CALL... : all of g-fd, and each CALL was really changed.
holds ()
{
  local sentence=$1 settings=$2 call
  shift 2
  rm -f "$T/log"
  # shellcheck disable=SC2086 # several assignments in one word
  check "the library's transfers hold with $sentence" \
    shim $settings "SHIM_LOG=$T/log" "$top_builddir/tests/g-fd"
  for call; do
    check "and there was such a call: $call" grep -q "^$call$" "$T/log"
  done
}

holds "at most 777 bytes a call" SHIM_MAX=777 'short read' 'short write'
holds "at most 4095 bytes a call" SHIM_MAX=4095 'short read' 'short write'
holds "at most 3 bytes a call" "G_FD_SMALL=1 SHIM_MAX=3" 'short read' 'short write' 'short pwrite'
holds "every second call interrupted" SHIM_EINTR=2 'eintr read' 'eintr write'
holds "both at once" "SHIM_MAX=4095 SHIM_EINTR=3" 'eintr read' 'eintr write'

done_testing
