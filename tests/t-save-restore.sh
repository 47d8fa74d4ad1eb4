#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-save-restore.sh - every byte comes back, whatever the size, the producer's
# chunks, the cache mode and the file system; and the page cache is left as the
# mode promises.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON" fincore

sizes='0 1 511 512 513 4095 4096 4097 1048575 1048576 1048577 5243003'

writes () { run 60 "$FAKE_VM" write --kind=plain "$@"; }
checks () { run 60 "$FAKE_VM" check --kind=plain "$@"; }

# save OPTIONS... < STREAM, with the record in $T/record
saves () { rm -f "$T/record"; run 60 "$IOHELPER" save --result="$T/record" "$@"; }
restores () { rm -f "$T/record"; run 60 "$IOHELPER" restore --result="$T/record" "$@"; }

resident () { fincore -b -n -o RES "$1" | tr -d ' '; }

takes_direct ()
{
  dd if=/dev/zero of="$1/probe" bs=4096 count=1 oflag=direct 2> /dev/null
  local status=$?
  rm -f "$1/probe"
  return "$status"
}

# Pushes a file out of the page cache, whoever put it there.
chill ()
{
  "$PYTHON" -c '
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)' "$1"
}

# Runs a command; prints how many bytes it and its children read from devices.
bytes_from_disk ()
{
  "$PYTHON" -c '
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock * 512 if status == 0 else "failed")' "$@"
}

pass_through ()
{
  writes --size=3000001 | run 60 "$IOHELPER" "$1" --result="$T/record" - | checks --size=3000001
}

# ---- sizes, cache modes, file systems ---------------------------------------

# One save or restore of N bytes, judged by its record and by the page cache.
# $1: direction, $2: N, $3: file, $4: mode asked for, $5: mode to be used
one_trip ()
{
  local left
  if [ "$1" = save ]; then
    writes --size="$2" | saves --cache="$4" "$3" || { echo "save of $2 failed"; return 1; }
    left=$(resident "$3") # before the checker reads it
    checks --size="$2" --file="$3" || return 1
  else
    chill "$3"
    restores --cache="$4" "$3" | checks --size="$2"
    [ "${PIPESTATUS[*]}" = "0 0" ] || { echo "restore of $2 failed"; return 1; }
    left=$(resident "$3")
  fi
  if ! grep -qF "\"cache\":\"$5\"" "$T/record" || ! grep -qF "\"bytes\":$2," "$T/record"; then
    cat "$T/record"
    return 1
  fi
  [ -n "${memory:-}" ] || [ "$5" = keep ] || [ "$left" = 0 ] \
    || { echo "$left bytes are in the page cache after the $1 of $2"; return 1; }
}

# $1: folder, $2: mode asked for, $3: mode to be used.  Shows what is wrong first.
round_trips ()
{
  local n direction
  for n in $sizes; do
    for direction in save restore; do
      one_trip "$direction" "$n" "$1/image" "$2" "$3" || return 1
    done
    rm -f "$1/image"
  done
}

# $1: what it is, $2: folder, $3: not empty where the pages are the storage
all_modes ()
{
  local mode used memory=${3:-}
  for mode in auto direct drop keep; do
    used=$mode
    if [ "$mode" = auto ]; then
      used=drop
      if takes_direct "$2"; then used=direct; fi
    fi
    if [ "$mode" = direct ] && ! takes_direct "$2"; then continue; fi
    check "$1, --cache=$mode: every size comes back whole, with cache $used" \
      round_trips "$2" "$mode" "$used"
  done
}

mkdir "$T/disk"
all_modes "the build disk" "$T/disk"

check_fails "a stream of odd length is not found whole one byte short" \
  checks --size=4097 --file=<(writes --size=4096)

# ---- producers ----------------------------------------------------------------

dribbles ()
{
  writes --size="$1" --chunk="$2" | saves --cache="$3" --buffer-size=64K "$T/disk/dribble" \
    && checks --size="$1" --file="$T/disk/dribble"
}

for mode in direct drop; do
  check "a producer that writes single bytes, --cache=$mode: nothing is lost" dribbles 20011 1 "$mode"
  check "a producer that writes 777 bytes at a time, --cache=$mode: nothing is lost" \
    dribbles 1048579 777 "$mode"
  check "a producer that writes random pieces, --cache=$mode: nothing is lost" \
    dribbles 5243003 random "$mode"
done

slow_reader ()
{
  restores --cache=direct "$T/disk/dribble" | checks --size=5243003 --read-size=777
}
check "a consumer that reads 777 bytes at a time gets every byte" slow_reader

# ---- pass-through -----------------------------------------------------------------

check "'save -' hands stdin on to stdout" pass_through save
is "'save -' syncs nothing, and says so" "$(json "$T/record" sync) $(json "$T/record" synced)" "none false"
is "'save -' to a pipe uses no page cache" "$(json "$T/record" cache)" none
check "'restore -' hands stdin on to stdout" pass_through restore

redirected ()
{
  writes --size=1048577 | run 60 "$IOHELPER" save --result="$T/record" - > "$T/disk/redirected" \
    && checks --size=1048577 --file="$T/disk/redirected" && [ "$(json "$T/record" cache)" != direct ]
}
check "'save -' into a redirected file: whole, and not switched to direct I/O" redirected

appended ()
{
  printf 'before' > "$T/disk/appended"
  writes --size=5000 | run 60 "$IOHELPER" save - >> "$T/disk/appended" || return 1
  [ "$(head -c 6 "$T/disk/appended")" = before ] || return 1
  tail -c +7 "$T/disk/appended" | checks --size=5000
}
check "'save -' into a file opened for appending: the stream follows the old content" appended

# ---- parts of a file -----------------------------------------------------------------

writes --size=1300000 > "$T/disk/parts"

part ()
{
  restores --cache="$1" --offset="$2" --length="$3" "$T/disk/parts" > "$T/part" || return 1
  tail -c "+$(($2 + 1))" "$T/disk/parts" | head -c "$3" | cmp - "$T/part"
}

parts ()
{
  local offset length
  for offset in 0 1 511 4096 4097 1048575 1299999 1300000; do
    for length in 0 1 512 4095 4096 100001 2000000; do
      part "$1" "$offset" "$length" || { echo "offset $offset, length $length"; return 1; }
    done
  done
}
check "restore --offset --length with direct I/O gives exactly that part" parts direct
check "restore --offset --length with dropped pages gives exactly that part" parts drop
restores --offset=1300001 "$T/disk/parts" > "$T/part" 2> "$T/err"
is "restore --offset beyond the end of the file is refused" "$?" 2

# ---- what the page cache holds ----------------------------------------------------------

size=6291456
writes --size="$size" | saves --cache=keep "$T/disk/cached"
is "save --cache=keep leaves the file in the page cache" "$(resident "$T/disk/cached")" "$size"
is "restore of a cached file reads nothing from the disk" \
  "$(bytes_from_disk "$IOHELPER" restore --result="$T/record" "$T/disk/cached")" 0
is "... and leaves it in the page cache" "$(resident "$T/disk/cached")" "$size"
restores --cache=drop "$T/disk/cached" > "$T/part"
is "restore --cache=drop leaves pages that were cached before" "$(resident "$T/disk/cached")" "$size"

chill "$T/disk/cached"
if takes_direct "$T/disk"; then
  # The program's own pages may be cold, too.
  check "restore of a cold file reads it from the disk" \
    test "$(bytes_from_disk "$IOHELPER" restore --result="$T/record" "$T/disk/cached")" -ge "$size"
  is "... and leaves the page cache empty" "$(resident "$T/disk/cached")" 0
else
  skip "restore of a cold file does not fill the page cache" "no direct I/O on the build disk"
fi

half_cached ()
{
  local before after read
  chill "$T/disk/cached"
  "$PYTHON" -c '
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
assert len(os.pread(fd, 2097152, 0)) == 2097152' "$T/disk/cached"
  before=$(resident "$T/disk/cached")
  read=$(bytes_from_disk "$IOHELPER" restore "$T/disk/cached")
  after=$(resident "$T/disk/cached")
  echo "cached before: $before, after: $after, read from disk: $read"
  [ "$before" = 2097152 ] && [ "$after" = "$before" ] \
    && [ "$read" -ge $((size - before)) ] && [ "$read" -lt "$size" ]
}
# A kernel short of memory takes pages back, now and then; a restore that drops
# them does so each time.
half_cached_once () { half_cached || half_cached || half_cached; }
if takes_direct "$T/disk"; then
  check "restore of a file that is cached in part reads only the rest from the disk" half_cached_once
fi

# ---- the record says what was used, and why -------------------------------------------------

writes --size=5000 | saves --cache=drop "$T/disk/why"
is "the record of a mode that was asked for says so" \
  "$(json "$T/record" cache): $(json "$T/record" cache_why)" "drop: asked for"

writes --size=5000 | saves --cache=direct /dev/null 2> "$T/err"
is "save --cache=direct to /dev/null: refused" "${PIPESTATUS[1]}" 2
is "... in one line that names the way out" "$(grep -c -e '--cache=direct' "$T/err")" 1

# ---- more than 32 bits -----------------------------------------------------------------------

# The source is sparse; what is saved of it is not.
big=4294967297
truncate -s "$big" "$T/disk/big"
mark () { printf %s "$1" | dd of="$T/disk/big" bs=1 seek="$2" conv=notrunc 2> /dev/null; }
mark abc $((2147483648 - 2))
mark xyz $((big - 3))
big_saved ()
{
  "$IOHELPER" restore --cache=direct "$T/disk/big" \
    | saves --cache=direct --expect-length="$big" "$T/disk/saved" || return 1
  echo "$(json "$T/record" bytes) $(stat -c %s "$T/disk/saved")"
  [ "$(json "$T/record" bytes) $(stat -c %s "$T/disk/saved")" = "$big $big" ]
}
check "a stream of 4 GiB + 1 is saved with direct I/O" big_saved
is "... every byte that is not zero is in it, and no other" \
  "$("$IOHELPER" restore --cache=direct "$T/disk/saved" | tr -d '\0')" abcxyz
is "... those at 2 GiB in their place" \
  "$(restores --offset=$((2147483648 - 2)) --length=3 "$T/disk/saved")" abc
is "... those at the end, too" "$(tail -c 3 "$T/disk/saved")" xyz
rm -f "$T/disk/saved"
is "restore beyond 4 GiB: the bytes at that offset" \
  "$(restores --offset=$((big - 3)) "$T/disk/big")" xyz
printf 123 | saves --in-place --offset=$((big - 2)) "$T/disk/big"
is "save --in-place beyond 4 GiB: the bytes at that offset, nothing else" \
  "$? $(tail -c 4 "$T/disk/big") $(stat -c %s "$T/disk/big")" "0 x123 $((big + 1))"
end_of_big ()
{
  [ "$(restores "$T/disk/big" | tail -c 4)" = x123 ] && [ "$(json "$T/record" bytes)" = $((big + 1)) ]
}
check "restore of more than 4 GiB into a pipe: the end is the file's end" end_of_big
rm "$T/disk/big"

# ---- other file systems ------------------------------------------------------------------------

need_root
other_system ()
{
  local name=$1 folder
  shift
  if folder=$("$@"); then
    all_modes "$name" "$folder" "$([ "$1" = tmpfs ] && echo yes)"
    umount "$folder"
  else
    skip "$name: every size comes back whole" "it cannot be made here"
  fi
}
other_system "ext4 on 512-byte sectors" loop_fs ext4 64M
other_system "ext4 on 4096-byte sectors" loop_fs ext4 64M 4096
other_system "xfs on 512-byte sectors" loop_fs xfs 64M
other_system "xfs on 4096-byte sectors" loop_fs xfs 64M 4096
other_system "btrfs" loop_fs btrfs 128M
other_system "tmpfs" tmpfs 64M

no_direct=$(mktemp -d "$T/mnt-XXXXXX")
mount -t ramfs ramfs "$no_direct" || bail_out "ramfs cannot be mounted"
all_modes "a file system without direct I/O" "$no_direct" yes
writes --size=5000 | saves "$no_direct/image"
is "... the record names the reason for the fallback" "$(json "$T/record" cache_why)" \
  "direct I/O is refused here: Invalid argument"
writes --size=5000 | saves --cache=direct "$no_direct/refused" 2> "$T/err"
is "... --cache=direct is refused there, nothing is made" \
  "${PIPESTATUS[1]} $([ -e "$no_direct/refused" ] && echo made)" "2 "
is "... in one line that names the way out" "$(grep -c -e '--cache=auto' "$T/err")" 1

done_testing
