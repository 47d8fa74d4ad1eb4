#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-evidence.sh - a save is committed when the stream's own end is there, and
# not when a stream of a known beginning was cut.
. "${srcdir:-.}/tests/lib.sh"

file=$T/image
record=$T/record

# save SIZE-AND-KIND... : a fake VM's stream to $file
save () {
  "$FAKE_VM" write "$@" | "$IOHELPER" save --quiet --result="$record" "$file"
}

# A size that is a multiple of every block ends in a direct write, an odd one
# in a buffered tail; the end is read back either way.
for size in 1M 3000001; do
  for cache in direct drop keep; do
    for kind in qemu 'qemu --no-vmdesc' libvirt 'libvirt --final' elf; do
      # shellcheck disable=SC2086 # kind and its option
      "$FAKE_VM" write --kind=$kind --size=$size \
        | "$IOHELPER" save --quiet --cache=$cache --result="$record" "$file"
      is "a whole stream of kind $kind and $size bytes, --cache=$cache, is committed" $? 0
      is "... by the evidence of its format" "$(json "$record" evidence)" format
    done
  done
done
for cache in direct drop; do
  "$FAKE_VM" write --kind=qemu --size=8M | "$IOHELPER" save --cache=$cache --quiet "$file"
  is "looking at the end leaves nothing in the page cache with --cache=$cache" \
    "$(fincore -b -n -o RES "$file" | tr -d ' ')" 0
done

save --kind=libvirt --compressed --size=1M
is 'a compressed libvirt image is committed' $? 0
is '... by its end of file, since its end says nothing' "$(json "$record" evidence)" eof
save --kind=plain --size=1M
is 'a stream of no known format is committed' $? 0
is '... by its end of file' "$(json "$record" evidence)" eof

# Cut anywhere, and written to a pipe too, where nothing can be read back.
printf 'old' >"$file"
for kind in qemu 'qemu --no-vmdesc' libvirt elf; do
  accepted='' piped=''
  for at in 16 91 92 100 700 3000 65536 262144 1048576 2999000 2999990 2999995 3000000; do
    # shellcheck disable=SC2086
    save --kind=$kind --size=3000001 --stop-at=$at
    [ $? = 3 ] || accepted="$accepted $at"
    # shellcheck disable=SC2086
    "$FAKE_VM" write --kind=$kind --size=3000001 --stop-at=$at \
      | "$IOHELPER" save --quiet - | cat >/dev/null
    [ "${PIPESTATUS[1]}" = 3 ] || piped="$piped $at"
  done
  is "a stream of kind $kind cut at 13 places is truncated at each" "$accepted" ''
  is "... also on its way into a pipe" "$piped" ''
done
is 'the old file is what it was after all of them' "$(cat "$file")" old

save --kind=qemu --size=100000 --stop-at=70000
is 'the record of a cut stream says truncated' "$(json "$record" outcome)" truncated
is '... and that nothing was proven' "$(json "$record" evidence)" none
is '... and that the file is untouched' "$(json "$record" target)" untouched
"$FAKE_VM" write --kind=qemu --size=100000 --stop-at=70000 \
  | "$IOHELPER" save --require=none --quiet --result="$record" "$file"
is '--require=none commits a cut stream' $? 0
is '... by its end of file' "$(json "$record" evidence)" eof

for want in qemu libvirt elf; do
  for kind in qemu libvirt elf plain; do
    "$FAKE_VM" write --kind=$kind --size=100000 | "$IOHELPER" save --quiet --require=$want "$file"
    got=$?
    [ $kind = $want ] && status=0 || status=3
    is "--require=$want ends with $status for a whole stream of kind $kind" "$got" "$status"
  done
done
printf '' | "$IOHELPER" save --quiet --require=qemu "$file"
is '--require=qemu refuses an empty stream' $? 3
printf 'Libvirt' | "$IOHELPER" save --quiet "$file"
is 'a stream that stops inside a magic is truncated' $? 3

# In libvirt's own form libvirt knows, and the exit status is as ever.
"$FAKE_VM" write --kind=qemu --size=100000 --stop-at=70000 >"$T/cut"
"$IOHELPER" /cut 1 <"$T/cut" >"$T/out" 2>"$T/err"
is "libvirt's form takes a cut stream as the stock helper does" "$?$(cat "$T/err")" 0
check "... byte for byte" cmp "$T/cut" "$T/out"
done_testing
