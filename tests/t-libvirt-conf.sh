#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-libvirt-conf.sh - libvirt.conf carries options for libvirt's forms, and
# nothing that is wrong with it can change their contract.
#
# Runs in a mount namespace of its own, where the configuration's folder is a
# copy: the system's is never touched.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need_cmd strace unshare "$PYTHON"

stream=$T/stream image=$T/image err=$T/err
"$FAKE_VM" write --kind=libvirt --size=1500001 > "$stream"

# Where this build looks.
(no_leak_check; strace -f -o "$T/trace" -e trace=openat "$IOHELPER" /x/y 1 < "$stream" > "$image")
conf=$(sed -n 's/.*"\(.*libvirt\.conf\)".*/\1/p' "$T/trace")
[ -n "$conf" ] || bail_out "no libvirt.conf is looked for"
folder=${conf%/*}
above=${folder%/*}

# Once more, in a private namespace.
if [ -z "${CONF_INNER:-}" ]; then
  [ -d "$above" ] || skip_all "this build's folder '$above' is not there"
  lib_private () { CONF_INNER=1 LIB_INNER=1 unshare --mount "$BASH" "$0"; }
  lib_private
  exit $?
fi
cp -a "$above" "$T/above"
mount --bind "$T/above" "$above" || bail_out "'$above' cannot be covered"
mkdir -p "$folder" "$T/results"

# Takes the file's text from stdin.
configure ()
{
  rm -rf "$conf" "$T/results"
  mkdir "$T/results"
  cat > "$conf"
  chown 0:0 "$conf"
  chmod 644 "$conf"
}

saves () { empty_env LIBVIRT_LOG_OUTPUTS=1:stderr "$IOHELPER" /x/y 1 < "$stream" > "$image" 2> "$err"; }
whole () { cmp "$stream" "$image" && [ ! -s "$err" ]; }
record () { json "$(echo "$T"/results/iohelper-*.json)" "$1"; }
records () { find "$T/results" -type f | wc -l; }

# contract SENTENCE: a save as if the file were not there
contract ()
{
  saves
  is "$1: status 0" "$?" 0
  check "$1: the whole stream, and nothing on stderr" whole
}

rm -f "$conf"
contract "without a libvirt.conf"

configure << END
# a comment, and an empty line

result-dir = $T/results
engine=copy
  cache = drop
END
contract "with a good libvirt.conf"
is "... result-dir gets the record" "$(records)" 1
is "... which says what was done" \
  "$(record mode) $(record direction) $(record outcome) $(record bytes) $(record file)" \
  "libvirt save committed 1500001 /x/y"
is "... engine=copy is obeyed" "$(record engine): $(record engine_why)" "copy: asked for"
is "... cache=drop is obeyed" "$(record cache): $(record cache_why)" "drop: asked for"

printf 'result-dir=%s\n' "$T/results" | configure
"$IOHELPER" /x/y 0 < "$stream" > "$image"
is "result-dir: a restore has its record there, too" "$(record direction) $(record outcome)" \
  "restore delivered"
run 60 "$IOHELPER" save "$T/operator" < "$stream" 2> "$err"
is "an operator's save reads no libvirt.conf" "$(records)" 1

printf 'result-dir=%s/missing\n' "$T" | configure
saves
is "a result-dir that is not there: status 0 all the same" "$? $(cmp "$stream" "$image" 2>&1)" "0 "

# ---- files that are not obeyed ---------------------------------------------------

# faulty WHAT; result-dir is in each file, so a record shows that it was obeyed
ignored ()
{
  contract "$1"
  is "$1: it is not obeyed" "$(records)" 0
}

good () { printf 'result-dir=%s\n' "$T/results" | configure; }

for line in nonsense engine=warp cache= 'result-fd=1' 'quiet' 'engine copy' 'memory=1KB' '=x' \
  "$(head -c 20000 /dev/zero | tr '\0' x)"; do
  printf 'result-dir=%s\n%s\n' "$T/results" "$line" | configure
  ignored "a line '${line:0:30}'"
done
good
chmod 664 "$conf"
ignored "a file that its group can write"
good
chmod 646 "$conf"
ignored "a file that anybody can write"
good
chown nobody "$conf"
ignored "a file that is not root's"
good
rm "$conf"
mkdir "$conf"
ignored "a directory of that name"
good
rm "$conf"
mkfifo "$conf"
ignored "a FIFO of that name"
good
saves
is "the same file, root's and closed to others, is obeyed" "$(records)" 1

done_testing
