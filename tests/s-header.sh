#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# s-header.sh - the installed header is enough by itself, in C99 and C++, and
# every function in it says what a caller has to know.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

need_cmd pkg-config "${CC:-cc}"

header=$top_srcdir/libwrap/iowrap.h

# GLib's own headers are none of our business.
mapfile -t flags < <(pkg-config --cflags gio-2.0 | tr -s ' ' '\n' | sed 's/^-I/-isystem/; /^$/d')

mkdir "$T/include"
cp "$header" "$T/include/"
printf '#include <iowrap.h>\nIowRelay *relay;\n' > "$T/alone.c"
cp "$T/alone.c" "$T/alone.cc"

compile () # COMPILER LANGUAGE-STANDARD FILE
{
  "$1" "-std=$2" -Wall -Wextra -Wpedantic -Werror -Wundef "${flags[@]}" -I "$T/include" \
    -fsyntax-only "$3"
}

for standard in c99 c11 c17; do
  check "the header alone compiles as ${standard^}" compile "${CC:-cc}" "$standard" "$T/alone.c"
done
if command -v "${CXX:-c++}" > /dev/null; then
  for standard in c++11 c++17; do
    check "the header alone compiles as ${standard^}" compile "${CXX:-c++}" "$standard" "$T/alone.cc"
  done
else
  skip "the header alone compiles as C++" "there is no C++ compiler"
fi

check_fails "the header does not compile without GLib, so the test above is one" \
  "${CC:-cc}" -I "$T/include" -fsyntax-only "$T/alone.c"

# A function's comment is the last one before its declaration.
undocumented ()
{
  awk '
    /^\/\*\*/ { doc = ""; inside = 1 }
    inside { doc = doc $0 "\n" }
    /\*\// { inside = 0 }
    /^IOW_API/ && !/get_type|error_quark|G_DECLARE/ {
      name = $0
      sub (/ \(.*/, "", name)
      sub (/.*[ *]/, "", name)
      if (doc !~ ("[*] " name ":")) print name ": no comment of its own"
      if (doc !~ /Since: [0-9]/) print name ": no Since"
      if ($0 !~ /void iow/ && doc !~ /Returns:/) print name ": no Returns"
      if ($0 ~ /GError/ && doc !~ /Errors:|for bindings/) print name ": no Errors"
      doc = ""
    }
  ' "$1"
}

undocumented "$header" > "$T/undocumented"
diag "$(cat "$T/undocumented")"
is "every function has its comment, with Since, Returns and Errors" "$(wc -l < "$T/undocumented")" 0

sed 's/^ \* Since: 1.0//' "$header" > "$T/bare.h"
check "a header without them is told apart" test "$(undocumented "$T/bare.h" | wc -l)" -gt 10

done_testing
