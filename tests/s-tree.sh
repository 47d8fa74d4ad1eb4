#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# s-tree.sh - the shape of the source files: licence, size, headers that stand
# alone, scripts without warnings, nothing left open, nothing from one machine.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

need_cmd shellcheck

cd "$top_srcdir" || exit 1

# What git knows; in a tarball whatever lies there, build folders excepted.
if [ -e .git ] && git ls-files > "$T/tracked" 2>/dev/null && [ -s "$T/tracked" ]; then
  # A file may be deleted and not yet committed.
  while read -r file; do
    [ ! -f "$file" ] || echo "./$file"
  done < "$T/tracked" | sort > "$T/sources"
else
  find . \( -name config.status -printf '%h\n' \) | grep -vx . > "$T/builds"
  find . \( -path './build*' -o -path './_*' -o -path './autom4te.cache' -o -path './m4' \
    -o -path './iohelper-*' -o -path './t-????????' -o -name __pycache__ \) -prune \
    -o -type f ! -path ./config.h -print \
    | awk -v builds="$T/builds" 'BEGIN { while ((getline folder < builds) > 0) skip[folder "/"] }
        { for (s in skip) if (index ($0, s) == 1) next; print }' | sort > "$T/sources"
fi

sources () # REGEXP: those whose whole name matches
{
  grep -xE "$1" "$T/sources"
}

sources '.*\.[ch]' > "$T/c"
sources '.*\.(sh|bash)|\./\.ci/run' > "$T/shell"
sources '.*\.py' > "$T/python"
sources '.*\.(pl|pod|map|pc\.in|ac|am|md|supp)' > "$T/other"
cat "$T/c" "$T/shell" "$T/python" "$T/other" > "$T/all"
check "sources were found" test "$(wc -l < "$T/c")" -ge 60 -a "$(wc -l < "$T/shell")" -ge 5

unlicensed ()
{
  grep -vxE '.*\.(md|supp)' "$T/all" | while read -r file; do
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: LGPL-2.1-or-later' || echo "$file"
  done
  while read -r file; do
    head -n 1 "$file" | grep -qx '/\* SPDX-License-Identifier: LGPL-2.1-or-later' || echo "$file: first line"
  done < "$T/c"
}
is "each source names its licence, C files in the first line" "$(unlicensed)" ""

unexplained ()
{
  while read -r file; do
    sed -n 3p "$file" | grep -q " \* ${file##*/} - " || echo "$file"
  done < "$T/c"
}
is "each C file opens with its name and its job" "$(unexplained)" ""

too_long ()
{
  while read -r file; do
    [ "$(wc -l < "$file")" -le 400 ] || echo "$file: $(wc -l < "$file") lines"
  done < <(sources '\./(iohelper|libwrap)/.*\.c')
}
is "no C file of the helper and of the library has more than 400 lines" "$(too_long)" ""

unguarded ()
{
  while read -r file; do
    awk '/^#/ { n++; if (n == 1 && $1 == "#ifndef") name = $2
           if (n == 2 && $1 == "#define" && $2 == name) good = 1; last = $0 }
         END { exit !(good && last ~ /^#endif/) }' "$file" || echo "$file"
  done < <(grep '\.h$' "$T/c")
}
is "each header has an include guard around all of it" "$(unguarded)" ""

# In C, after config.h as every file begins; iowrap.h, which is installed,
# has a test of its own.
not_alone ()
{
  local flags
  flags=$(pkg-config --cflags gio-2.0 json-c libevent_core 2>/dev/null)
  while read -r file; do
    # shellcheck disable=SC2086 # flags are words
    printf '#include <config.h>\n#include "%s"\n#include "%s"\n' "${file#./}" "${file#./}" \
      | ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -x c -I. -Itests \
          -I"$top_builddir" $flags - > "$T/.cc" 2>&1 || { echo "$file"; head -n 5 "$T/.cc"; }
  done < <(grep '\.h$' "$T/c")
}
is "each header compiles alone, and twice" "$(not_alone)" ""

# The names are put together here, so that this file does not hold them.
open_words="TO""DO|FIX""ME|XX""X"
is "nothing is marked as still to be done" \
  "$(xargs -a "$T/all" grep -nwE "$open_words" | grep -v 'XX''XXXX')" ""
places="(^|[^A-Za-z0-9._-])/(wo""rk|home|Users)/|/tmp/io""h|/tmp/no""tes"
is "no file names a place on one machine" "$(xargs -a "$T/all" grep -nE "$places")" ""
is "no line ends in blanks" \
  "$(xargs -a "$T/all" grep -nE '[[:blank:]]+$' | cut -c 1-80)" ""

unlisted ()
{
  sed 's|^\./||' "$T/c" | while read -r file; do
    grep -qF "$file" Makefile.am || echo "$file"
  done
}
# Unit tests are listed without their ending.
is "each C file of the helper and of the library is in Makefile.am" \
  "$(unlisted | grep -v '^tests/\|^bench/')" ""

not_executable ()
{
  sources '\./tests/[a-z]-[^/]*\.(sh|py)' | while read -r file; do
    [ -x "$file" ] || echo "$file: not executable"
    grep -qF "${file#./}" Makefile.am || echo "$file: not in Makefile.am"
  done
}
is "each test script is executable, and in a list of Makefile.am" "$(not_executable)" ""

check "shellcheck finds nothing in the scripts" xargs -a "$T/shell" shellcheck
check "python3 compiles each Python file" xargs -a "$T/python" "$PYTHON" -c '
import sys
for name in sys.argv[1:]:
    compile(open(name, "rb").read(), name, "exec")'

done_testing
