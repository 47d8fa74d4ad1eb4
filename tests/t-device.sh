#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-device.sh - block devices: what the stream covers is changed and not one byte
# more, what cannot fit is refused or reported, and a device in use is left alone.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need_cmd "$PYTHON" losetup

record=$T/record err=$T/err
new () { "$FAKE_VM" write --size="$1" 2> /dev/null; }
saves () { rm -f "$record"; run 60 "$IOHELPER" save --result="$record" "$@" 2> "$err"; }
restores () { rm -f "$record"; run 60 "$IOHELPER" restore --result="$record" "$@" 2> "$err"; }
field () { json "$record" "$1"; }

# A device of 1 MiB and 193 sectors' worth, full of bytes that no stream has.
capacity=$((1048576 + 193 * 4096))
paper () { head -c "$capacity" /dev/zero | tr '\0' '\245'; }
paper > "$T/paper"
blank () { paper > "$device"; }

# What the device must hold: $1 bytes of paper, a stream of $2 bytes, paper.
holds ()
{
  cmp "$device" <(head -c "$1" "$T/paper"; new "$2"; tail -c "+$(($1 + $2 + 1))" "$T/paper")
}

# $1: a --cache= mode; shows the first size that is wrong
every_size ()
{
  local n
  for n in 0 1 511 512 513 4095 4096 4097 65535 1000000 1048576 $((capacity - 1)) "$capacity"; do
    blank
    new "$n" | saves --cache="$1" "$device" || { cat "$err"; return 1; }
    holds 0 "$n" || { echo "a stream of $n bytes"; return 1; }
    [ "$(field bytes) $(field target)" = "$n new" ] || { cat "$record"; return 1; }
    restores --cache="$1" --length="$n" "$device" | cmp - <(new "$n") || return 1
  done
}
at_offset ()
{
  local at
  for at in 1 511 512 4096 4097 1000003 $((capacity - 70001)); do
    blank
    new 70001 | saves --cache="$1" --offset="$at" "$device" || { cat "$err"; return 1; }
    holds "$at" 70001 || { echo "at offset $at"; return 1; }
    restores --cache="$1" --offset="$at" --length=70001 "$device" | cmp - <(new 70001) || return 1
  done
}

for sector in 512 4096; do
  device=$(loop_dev "$capacity" "$sector") || { skip "devices of $sector-byte sectors" "not here"; continue; }
  [ "$(blockdev --getsize64 "$device")" = "$capacity" ] || bail_out "the device has another size"
  what="sectors of $sector bytes"

  for mode in auto direct drop keep; do
    check "$what, --cache=$mode: every size up to the device's own, and no byte behind it" \
      every_size "$mode"
    check "$what, --cache=$mode: at an offset, and no byte before or behind" at_offset "$mode"
  done
  new 100000 | saves "$device"
  is "$what: direct I/O is used" "$(field cache)" direct
  is "$what: the device is synced" "$(field sync) $(field synced)" "data true"

  blank
  new $((capacity + 1)) | saves "$device"
  is "$what: one byte too many is no space, at the device's end" \
    "$? $(field outcome) $(field error.errno) $(field error.offset)" "9 no-space ENOSPC $capacity"
  is "$what: the record says that a part is there" "$(field target)" partial
  check "$what: what fits is there" cmp "$device" <(new "$((capacity + 1))" | head -c "$capacity")

  blank
  for option in --expect-length --size; do
    new 100 | saves "$option=$((capacity + 1))" "$device"
    is "$what: $option beyond the device is refused in one line" "$? $(wc -l < "$err")" "2 1"
  done
  new 100 | saves --offset=1 --expect-length="$capacity" "$device"
  is "$what: --offset and --expect-length together beyond it, too" "$?" 2
  new 100 | saves --offset=$((capacity + 1)) "$device"
  is "$what: --offset beyond it, too" "$?" 2
  restores --offset=$((capacity + 1)) "$device" > "$T/out"
  is "$what: restore --offset beyond it, too" "$?" 2
  new 100 | saves --no-clobber "$device"
  is "$what: --no-clobber, too" "$?" 2
  check "$what: none of these changed a byte" holds 0 0
  new "$capacity" | saves --expect-length="$capacity" "$device"
  is "$what: --expect-length of the whole device is good" "$? $(field evidence)" "0 length"

  restores "$device" | cmp - <(new "$capacity")
  is "$what: restore without --length gives the whole device" "${PIPESTATUS[*]}" "0 0"
  restores --length=100001 --expect-length=100001 "$device" | cmp - <(new "$capacity" | head -c 100001)
  is "$what: restore --length, and expecting just that" "${PIPESTATUS[*]}" "0 0"
  restores --expect-length=$((capacity + 1)) "$device" > "$T/out"
  is "$what: restore --expect-length beyond the device: truncated" "$?" 3

  ln -sf "$device" "$T/link"
  blank
  new 1000 | saves "$T/link"
  is "$what: a link to the device is followed, and stays" \
    "$? $(holds 0 1000 2>&1) $(readlink "$T/link")" "0  $device"
  losetup -d "$device"
done

# ---- in use ------------------------------------------------------------------------

folder=$(loop_fs ext4 8M) || bail_out "no ext4 on a loop device"
device=$(findmnt -n -o SOURCE "$folder")
printf old > "$folder/file"
sync -f "$folder"
new 1000 | saves "$device"
is "a mounted device is refused, and the line says why" \
  "$? $(grep -c 'in use' "$err") $(field error.errno)" "2 1 EBUSY"
new 1000 | saves --in-place --offset=0 "$device"
is "... with --in-place as well" "$?" 2
umount "$folder"
mount "$device" "$folder"
is "... the file system is as it was" "$(cat "$folder/file")" old
umount "$folder"

exclusive ()
{
  mkfifo "$T/in"
  "$PYTHON" "$top_srcdir/tests/fds.py" 7="$device,rdwr,excl" -- cat "$T/in" > "$T/out" &
  local holder=$! status
  exec 5> "$T/in"
  new 1000 | saves "$device"
  status=$?
  exec 5>&-
  wait "$holder"
  [ "$status" = 2 ] || return 1
  new 1000 | saves "$device"
}
check "a device that somebody has open exclusively is refused, afterwards it is not" exclusive

done_testing
