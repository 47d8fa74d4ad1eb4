#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# s-symbols.sh - what the library exports is what its map lists and what its
# header declares, no more and no less.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

need_cmd nm readelf

library=$top_builddir/libwrap/.libs/libiowrap.so
map=$top_srcdir/libwrap/iowrap.map
header=$top_srcdir/libwrap/iowrap.h

nm -D --defined-only "$library" | awk '$2 != "A" { sub (/@.*/, "", $3); print $3 }' \
  | LC_ALL=C sort > "$T/exported"
sed -n 's/^[[:space:]]*\(iow_[a-z0-9_]*\);$/\1/p' "$map" | LC_ALL=C sort > "$T/mapped"
# G_DECLARE_FINAL_TYPE (IowRelay, iow_relay, ...) declares iow_relay_get_type().
sed -n -e 's/^IOW_API [A-Za-z0-9 ]*\** *\(iow_[a-z0-9_]*\) (.*/\1/p' \
  -e 's/^IOW_API G_DECLARE_FINAL_TYPE ([A-Za-z]*, \(iow_[a-z_]*\),.*/\1_get_type/p' "$header" \
  | LC_ALL=C sort > "$T/declared"

is "every declaration of the header was found" "$(wc -l < "$T/declared")" "$(grep -c '^IOW_API' "$header")"
check "the library exports what its map lists" diff "$T/exported" "$T/mapped"
check "the map lists what the header declares" diff "$T/mapped" "$T/declared"
check "the map is sorted" diff <(sed -n 's/^[[:space:]]*\(iow_[a-z0-9_]*\);$/\1/p' "$map") "$T/mapped"

# libwrap.so is TCP Wrappers' name.
is "its name for the linker is its own" \
  "$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" libiowrap.so.0
check "it stays loaded, since its threads and types do" \
  sh -c "readelf -d '$library' | grep -q NODELETE"
is "it needs neither libevent nor liburing" \
  "$(readelf -d "$library" | grep NEEDED | grep -cE 'event|uring')" 0

done_testing
