#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# s-man.sh - the manual's sources are sound POD, and what they become is sound
# roff that fits a terminal of 80 columns.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

need_cmd podchecker pod2man groff

names_all () # POD SECTION...: "=head1" titles that are missing
{
  local pod=$1 title
  shift
  for title; do
    grep -qx "=head1 $title" "$pod" || echo "$title"
  done
}

clean () # no output at all
{
  local out
  out=$("$@" 2>&1) || { echo "$out"; return 1; }
  [ -z "$out" ] || { echo "$out"; return 1; }
}

sound () # neither errors nor warnings
{
  local out
  out=$(podchecker -warnings -warnings "$1" 2>&1) || { echo "$out"; return 1; }
  ! echo "$out" | grep -v 'pod syntax OK'
}

# Without a name, pod2man makes one for section 3 from the whole path.
to_roff () # POD SECTION NAME ROFF
{
  pod2man --errors=die --utf8 --name="$3" --section="$2" "$1" "$4"
}

lint ()
{
  clean sh -c 'groff -K utf8 -man -ww -Tutf8 -rLL=80n "$1" > "$2"' sh "$1" "$2"
}

for page in iohelper.1 libiowrap.3; do
  name=${page%.*} section=${page#*.}
  pod=$top_srcdir/man/$name.pod
  check "podchecker finds nothing in $name.pod" sound "$pod"
  check "pod2man takes $name.pod" to_roff "$pod" "$section" "$name" "$T/$page"
  check "groff -man -ww finds nothing in $page" lint "$T/$page" "$T/$page.text"
  is "no line of $page is wider than a terminal" \
    "$(sed 's/\x1b\[[0-9;]*m//g; s/.\x08//g' "$T/$page.text" | LC_ALL=C.UTF-8 grep -E '.{81}')" ""
done
is "iohelper.pod has the usual sections" \
  "$(names_all "$top_srcdir/man/iohelper.pod" NAME SYNOPSIS DESCRIPTION FORMS OPTIONS \
    'EXIT STATUS' 'THE RECORD' SIGNALS FILES ENVIRONMENT NOTES EXAMPLES 'SEE ALSO')" ""
is "libiowrap.pod has the usual sections" \
  "$(names_all "$top_srcdir/man/libiowrap.pod" NAME SYNOPSIS DESCRIPTION SAVE RESTORE \
    OWNERSHIP ERRORS SYMBOLS 'SEE ALSO')" ""

# Each symbol of the library has its word in the manual, and nothing else has.
sed -n 's/^[[:space:]]*\(iow_[a-z0-9_]*\);$/\1/p' "$top_srcdir/libwrap/iowrap.map" | sort > "$T/map"
grep -o 'iow_[a-z0-9_]*' "$top_srcdir/man/libiowrap.pod" | sort -u > "$T/named"
check "libiowrap(3) names the symbols of the map, all and only those" diff "$T/map" "$T/named"
sed -n 's/^ *\(IOW_ERROR_[A-Z_]*\) = [0-9]*,\?$/\1/p' "$top_srcdir/libwrap/iowrap.h" \
  | sort > "$T/errors"
sed -n 's/^=item B<\(IOW_ERROR_[A-Z_]*\)>$/\1/p' "$top_srcdir/man/libiowrap.pod" | sort > "$T/named"
check "libiowrap(3) lists the errors of the header" diff "$T/errors" "$T/named"
sed -n 's/.*g_param_spec_[a-z0-9]* ("\([a-z-]*\)".*/\1/p' "$top_srcdir/libwrap/iow-relay-props.c" \
  | sort > "$T/properties"
sed -n '/^=head1 PROPERTIES/,/^=head1 SYMBOLS/p' "$top_srcdir/man/libiowrap.pod" \
  | grep -o 'C<[a-z-]*>' | sed 's/C<\(.*\)>/\1/' | sort > "$T/named"
check "libiowrap(3) lists the properties of a relay" diff "$T/properties" "$T/named"

done_testing
