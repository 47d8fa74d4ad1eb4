#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# f-space.sh - the space, or the quota, is used up before the stream is there,
# wherever in its last 256 KiB: no such save commits, the old file stays, no
# temporary file does, and the space comes back.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need_cmd "$PYTHON" losetup

size=1200077
need=$(((size + 4095) / 4096 * 4096))
record=$T/record err=$T/err
"$FAKE_VM" write --kind=qemu --size=$size > "$T/stream"
"$FAKE_VM" write --size=100000 --seed=7 > "$T/old"

field () { json "$record" "$1"; }
available () { "$PYTHON" -c 'import os, sys; s = os.statvfs(sys.argv[1]); print(s.f_bavail * s.f_frsize)' "$1"; }
# Some file systems give back in the background.
given_back () { sync -f "$d"; [ "$(available "$d")" -ge "$before" ]; }

# One save into folder $d with room bytes of space left; in $result: committed,
# refused, or what is wrong.  HOW: new, over, in-place.
save_into ()
{
  local how=$1 file=$d/vm status outcome args=()
  rm -rf "${d:?}/vm" "$record"
  [ "$how" = new ] || cp "$T/old" "$file"
  [ "$how" != in-place ] || args=(--in-place)
  sync -f "$d"
  room "$how" || { result="no such room"; return; }
  before=$(available "$d")
  run 60 "$IOHELPER" save --quiet --buffer-size=64K "${args[@]}" --result="$record" "$file" < "$T/stream" 2> "$err"
  status=$? outcome=$(field outcome)
  [ "$(find "$d" -name '.vm*')" = "" ] || { result="a temporary file is left"; return; }
  if [ "$status" = 0 ]; then
    result=committed
    cmp -s "$file" "$T/stream" || result="status 0, and not the stream"
    return
  fi
  result=refused
  [ "$status $outcome $(field error.errno)" = "9 no-space ENOSPC" ] \
    || { result="status $status, $outcome, $(field error.errno)"; return; }
  case $how-$(field target) in
    new-untouched) [ ! -e "$file" ] || result="there is a file" ;;
    over-untouched) cmp -s "$file" "$T/old" || result="the old file is not what it was" ;;
    in-place-partial | in-place-untouched) rm "$file"; return ;;
    *) result="target $(field target)" ;;
  esac
  wait_for 10 given_back || result="$((before - $(available "$d"))) bytes are not given back"
}

# ---- tmpfs, page by page ------------------------------------------------------------

d=$(tmpfs 1M)
room ()
{
  local used=0
  [ "$1" = new ] || used=102400
  # In place, the old content is cut off first.
  [ "$1" != in-place ] || used=0
  mount -o "remount,size=$((used + space))" "$d"
}
for how in new over in-place; do
  bad=0 committed=0 steps=0
  for ((space = need - 262144; space <= need + 8192; space += 4096)); do
    # A tmpfs with less than it holds is refused.
    save_into $how
    steps=$((steps + 1))
    case $result in
      committed) committed=$((committed + 1)) ;;
      refused) [ "$space" -lt "$need" ] || [ "$committed" = 0 ] || { bad=$((bad + 1)); diag "refused at $space"; } ;;
      *) bad=$((bad + 1)); diag "room for $((space - need)) bytes more than are needed: $result" ;;
    esac
    [ "$space" -ge "$need" ] || [ "$result" != committed ] || { bad=$((bad + 1)); diag "committed at $space"; }
  done
  is "tmpfs, $how, each page of the last 256 KiB missing ($steps saves): the account is true" "$bad" 0
  is "... committed as soon as there is room" "$((committed >= 2))" 1
done
umount "$d"

# ---- disks ------------------------------------------------------------------------------

# Leaves space bytes, by a file that takes the rest.
room ()
{
  rm -f "$d/filler"
  sync -f "$d"
  local rest=$(($(available "$d") - space))
  [ "$rest" -gt 0 ] && fallocate -l "$rest" "$d/filler" && sync -f "$d"
}
for fs in ext4:40M xfs:64M btrfs:128M; do
  type=${fs%:*}
  if ! command -v "mkfs.$type" > "$T/.which" || ! d=$(loop_fs "$type" "${fs#*:}" 2> "$T/.why"); then
    skip "$type, space used up" "no $type can be mounted here"
    continue
  fi
  for how in new over in-place; do
    bad=0 refused=0 committed=0
    for part in 262144 200704 131072 65536 32768 8192 4096 0 -4194304; do
      space=$((need - part))
      save_into $how
      case $result in
        committed) committed=$((committed + 1)) ;;
        refused) refused=$((refused + 1)) ;;
        *) bad=$((bad + 1)); diag "$part bytes too few: $result; $(cat "$err")" ;;
      esac
    done
    is "$type, $how, up to 256 KiB missing: the account is true" "$bad" 0
    # What a file system keeps back for itself is its own affair.
    is "... refused with less, committed with more" "$((refused > 0)) $((committed > 0))" "1 1"
  done
  umount "$d"
done

# ---- quota ------------------------------------------------------------------------------

if command -v btrfs > "$T/.which" && d=$(loop_fs btrfs 128M 2> "$T/.why") \
  && { btrfs quota enable "$d" && btrfs qgroup limit 600K "$d"; } > "$T/.why" 2>&1; then
  cp "$T/old" "$d/vm"
  run_quota () { run 60 "$IOHELPER" save --quiet --result="$record" "$@" "$d/vm" < "$T/stream" 2> "$err"; status=$?; }
  for mode in direct drop; do
    run_quota --cache=$mode
    is "beyond the quota, --cache=$mode: no-space, and EDQUOT" \
      "$status $(field outcome) $(field error.errno) $(field target)" "9 no-space EDQUOT untouched"
    check "... the old file is as it was" cmp "$d/vm" "$T/old"
    is "... no temporary file is left" "$(find "$d" -name '.vm*')" ""
  done
  btrfs qgroup limit none "$d"
  run_quota
  is "without the quota: committed" "$status $(field outcome)" "0 committed"
  rm "$d/vm"
  sync -f "$d"
  btrfs qgroup limit 600K "$d"
  : > "$d/vm"
  run_quota --in-place --buffer-size=64K
  is "beyond the quota in place: no-space, and a part is there" \
    "$status $(field outcome) $(field error.errno) $(field target)" "9 no-space EDQUOT partial"
  : > "$d/vm"
  sync -f "$d"
  run 60 "$IOHELPER" "$d/vm" 1 < "$T/stream" 1<> "$d/vm" 2> "$err"
  is "beyond the quota in libvirt's form: status 1, one line" \
    "$? $(sed "s/ at offset [0-9]*//" "$err")" "1 iohelper: writing '$d/vm': Disk quota exceeded"
  umount "$d"
else
  skip "beyond the quota" "no btrfs with quota: $(tr '\n' ' ' < "$T/.why")"
fi

done_testing
