#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# s-status.sh - outcomes, exit statuses, record keys and their words in
# status.h are those of --help, of the manual, and of a real record.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

header=$top_srcdir/iohelper/status.h
pod=$top_srcdir/man/iohelper.pod

section () # TITLE: that part of the manual
{
  awk -v title="=head1 $1" '$0 == title { on = 1; next } /^=head1 / { on = 0 } on' "$pod"
}

sed -n 's/^  X ([A-Z_]*, "\([a-z-]*\)", \([0-9]\), .*/\2 \1/p' "$header" > "$T/statuses"
check "the header has ten outcomes or more" test "$(wc -l < "$T/statuses")" -ge 10
section 'EXIT STATUS' | sed -n 's/^=item \([0-9]*\) I<\(.*\)>$/\1 \2/p' > "$T/manual"
check "the manual's exit statuses are the header's, in its order" diff "$T/statuses" "$T/manual"
"$IOHELPER" --help | sed -n 's/^  \([0-9]\)  \([a-z-]*\) .*/\1 \2/p' > "$T/help"
check "the exit statuses of --help are the header's, in its order" diff "$T/statuses" "$T/help"

# "error" is the last key, and its own keys follow it, as in the manual.
sed -n 's/^#define IOH_KEY_[A-Z_]* *"\([a-z_]*\)".*/\1/p' "$header" > "$T/keys"
check "the header has thirty keys or more" test "$(wc -l < "$T/keys")" -ge 30
section 'THE RECORD' | sed -n 's/^=item C<\(.*\)>$/\1/p' > "$T/manual"
check "the manual's record keys are the header's, in its order" diff "$T/keys" "$T/manual"
section 'THE RECORD' | awk '/^=item/ { item = $0; getline; getline;
  if ($0 !~ /^(Integer|String|Number|Boolean|Object|Array)/) print item }' > "$T/untyped"
is "the manual gives a type for each key" "$(cat "$T/untyped")" ""

sed -n '/define IOH_TARGETS/,/^$/s/^  X ([A-Z]*, "\(.*\)").*/\1/p' "$header" | sort > "$T/targets"
check "the header has five targets" test "$(wc -l < "$T/targets")" = 5
section 'THE RECORD' | sed -n '/^=item C<target>/,/^=item C<command_status>/p' | tr '\n' ' ' \
  | grep -o 'C<[a-z, ]*>:' | sed 's/C<\(.*\)>:/\1/' | sort > "$T/manual"
check "the manual's targets are the header's" diff "$T/targets" "$T/manual"

# The values behind a key, as the header's comment lists them: "a | b | c".
for key in mode direction engine cache sync evidence format; do
  sed -n "s/^#define IOH_KEY_[A-Z_]* *\"$key\" *\/\* \([^*;]*\).*/\1/p" "$header" \
    | sed 's/.*: //; s/, as carried out//' | tr -d '" ' | tr '|' '\n' | sort > "$T/want"
  section 'THE RECORD' | awk -v item="=item C<$key>" '$0 == item { on = 1; next } /^=/ { on = 0 } on' \
    | grep -o 'C<[a-z]*>' | sed 's/C<\(.*\)>/\1/' | grep -vx null | sort -u > "$T/manual"
  check "the manual lists the values of $key" diff "$T/want" "$T/manual"
done

# ---- records as they are -------------------------------------------------------

keys_of () # RECORD: its keys and those of error
{
  "$PYTHON" -c 'import json, sys
r = json.load(open(sys.argv[1]))
print("\n".join(list(r) + list(r["error"] or ())))' "$1"
}

seen ()
{
  keys_of "$1" >> "$T/seen"
}

cd "$T" || exit 1
head -c 70000 /dev/zero > stream
: > seen
"$IOHELPER" save --result=1.json file < stream; seen 1.json
"$IOHELPER" save --result=2.json --quiet --expect-length=1 file < stream; seen 2.json
"$IOHELPER" restore --result=3.json file -- cat > /dev/null; seen 3.json
chmod 644 file
"$IOHELPER" save --result=4.json --quiet file < stream; seen 4.json
mkfifo pipe
sh -c 'exec 3<>pipe; exec "$0" save --result=5.json --quiet file < pipe' "$IOHELPER" &
helper=$!
waiting () { [ -e "/proc/$helper/exe" ] && grep -q 'iohelper' "/proc/$helper/comm"; }
wait_for 10 waiting
wait_for 10 sh -c "test -n \"\$(pgrep -P $helper)\""
kill "$helper"
wait "$helper" 2> /dev/null
seen 5.json
sort -u seen > seen-once
# A stuck worker is a matter of the fault tests.
check "records of five kinds have every key of the header but worker_pid" \
  diff <(sort -u keys | grep -vx worker_pid) seen-once

"$PYTHON" - "$pod" > example.json <<'END'
import re, sys
text = open(sys.argv[1]).read()
print(re.search(r'^  \{"version".*?\n\n', text, re.S | re.M).group(0))
END
check "the manual's record is JSON" "$PYTHON" -m json.tool example.json
check "the manual's record has the keys of a real one, in its order" \
  diff <(keys_of example.json) <(keys_of 1.json)

done_testing
