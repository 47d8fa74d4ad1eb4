#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# f-late.sh - errors that come late: with the last write, the sync, the close,
# the sync of the directory.  Each is told, with its place, and none commits.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
: "${FAULT:=$top_builddir/tests/fault}"
need_cmd "$PYTHON"
"$FAULT" -- true || skip_all "calls cannot be made to fail here"

buffer=131072 size=3145805
d=$T/d file=$T/d/vm record=$T/record err=$T/err
mkdir "$d"
"$FAKE_VM" write --kind=qemu --size=$size > "$T/stream"
"$FAKE_VM" write --size=20000003 > "$T/long"
"$FAKE_VM" write --size=500000 --seed=7 > "$T/old"
no_leak_check

with_old () { rm -rf "$d"; mkdir "$d"; cp "$T/old" "$file"; }
is_old () { cmp "$file" "$T/old" && only; }
is_new () { cmp "$file" "$T/stream" && only; }
only () { [ "$(ls -A "$d")" = vm ] || { ls -lA "$d"; return 1; }; }
field () { json "$record" "$1"; }
acted () { grep -q "^fault $1\$" "$T/log" || diag "no such call: $1"; }

# FAULT... -- ARGS...: a save over the old file, or a restore.
faulty ()
{
  local faults=() verb
  while [ "$1" != -- ]; do faults+=("$1"); shift; done
  shift
  verb=$1
  shift
  rm -f "$record"
  run 30 "$FAULT" --log="$T/log" "${faults[@]}" -- "$IOHELPER" "$verb" --buffer-size=$buffer \
    --result="$record" "$@" 2> "$err"
  status=$?
  local fault
  for fault in "${faults[@]}"; do acted "$fault"; done
}
save () { with_old; faulty "$@" "$file" < "$T/stream"; }

# The number of the worker's first close after its Nth CALL, in the last log.
close_after ()
{
  awk -v call="$1" -v nth="$2" '$1 == "worker" && $2 == call && ++seen == nth { armed = 1 }
    $1 == "worker" && $2 == "close" { n++; if (armed) { print n; exit } }' "$T/log"
}

# ---- writing --------------------------------------------------------------------

declare -A text=([ENOSPC]="No space left on device" [EDQUOT]="Disk quota exceeded"
  [EFBIG]="File too large" [EIO]="Input/output error")
writes=$(((size + buffer - 1) / buffer))
for e in ENOSPC EDQUOT EFBIG EIO; do
  want="failed 1"
  case $e in ENOSPC | EDQUOT) want="no-space 9" ;; esac
  for n in 1 $((writes / 2)) $writes; do
    at=$(((n - 1) * buffer))
    save worker:pwrite64:"$n":$e -- save
    is "save, write $n of $writes fails with $e: outcome, status, errno and offset are told" \
      "$(field outcome) $status $(field error.errno) $(field error.offset) $(field bytes)" \
      "$want $e $at $at"
    is "... on one line" "$(grep -v warning: "$err")" \
      "iohelper: writing '$file' at offset $at: ${text[$e]}"
    check "... the old file is as it was, and alone" is_old

    save worker:pwrite64:"$n":$e -- save --in-place
    is "save --in-place, the same: the record says partial, and what was accepted" \
      "$(field outcome) $status $(field target) $(field error.offset) $(field bytes)" \
      "$want partial $at $at"
    is "... which is there" "$(cmp -n "$at" "$file" "$T/stream" && echo same)" same

    : > "$file"
    run 30 "$FAULT" worker:write@file:"$n":$e -- "$IOHELPER" "$file" 1 < "$T/stream" 1<> "$file" 2> "$err"
    is "libvirt's form, the same with its buffer: status 1, one line" "$? $(cat "$err")" \
      "$([ "$n" -le 4 ] && echo "1 iohelper: writing '$file' at offset $(((n - 1) << 20)): ${text[$e]}" || echo "0 ")"
  done
done

# ---- syncing, closing, putting in place -----------------------------------------------

# SENTENCE WANT: the file is still the old one.
kept ()
{
  is "$1" "$status $(field outcome) $(field target) $(field synced) $(field error.operation) $(field error.errno)" "$2"
  check "... the old file is as it was, and alone" is_old
}
for e in EIO ENOSPC EDQUOT; do
  case $e in EIO) want="1 failed" ;; *) want="9 no-space" ;; esac
  save worker:fsync:1:$e -- save
  kept "fsync fails with $e: not committed" "$want untouched false syncing $e"
  save worker:fdatasync:1:$e -- save --sync=data
  kept "fdatasync fails with $e (--sync=data): not committed" "$want untouched false syncing $e"
done
save -- save
twin=$(close_after fsync 1)
save worker:close:"$twin":EIO -- save
kept "closing the synced file fails: not committed" "1 failed untouched true closing EIO"
save worker:close:"$twin":EDQUOT -- save
kept "... also for quota, as NFS does" "9 no-space untouched true closing EDQUOT"
save -- save
n=$(close_after fsync 2)
is "a second close comes after the commit" "$((n > twin))" 1

unsure ()
{
  is "$1" "$status $(field outcome) $(field target) $(field error.operation) $(field error.errno)" "$2"
  check "... the new file is in place, whole and alone" is_new
}
save worker:close:"$n":EIO -- save
unsure "the last close fails: the file is new, its durability unknown" \
  "1 failed new, durability unknown closing EIO"
save worker:fsync:2:EIO -- save
unsure "the directory's sync fails: the file is new, its durability unknown" \
  "1 failed new, durability unknown syncing the directory of EIO"
is "... and it does not count as synced" "$(field synced)" false
rm "$file"
faulty worker:fsync:2:EIO -- save "$file" < "$T/stream"
unsure "... so for a new name" "1 failed new, durability unknown syncing the directory of EIO"
save worker:renameat:1:EIO -- save
kept "the rename fails: not committed" "1 failed untouched true putting in place EIO"
save worker:renameat:1:EBUSY -- save
is "... with EBUSY (a mount point) --in-place is named as the way out" "$(grep -c -e --in-place "$err")" 1

run 30 "$FAULT" --log="$T/log" -- "$IOHELPER" "$file" 1 < "$T/stream" 1<> "$file" 2> "$err"
n=$(close_after fdatasync 1)
for call in close fdatasync; do
  : > "$file"
  [ $call = close ] || n=1
  run 30 "$FAULT" --log="$T/log" worker:$call:"$n":EIO -- "$IOHELPER" "$file" 1 \
    < "$T/stream" 1<> "$file" 2> "$err"
  is "libvirt's form, $call fails: status 1, one line" "$? $(sed "s|'.*'|FILE|; s/ at offset [0-9]*//" "$err")" \
    "1 iohelper: $([ $call = close ] && echo closing || echo syncing) FILE: Input/output error"
done

# ---- drop: the error of a write-back is not seen again by fdatasync -------------------

with_old
faulty worker:pwritev2:1+:EOPNOTSUPP -- save --cache=drop "$file" < "$T/long"
is "--cache=drop, without RWF_DONTCACHE: committed" \
  "$status $(field cache) $(cmp "$file" "$T/long" && echo same)" "0 drop same"
ranges=$(grep -c '^worker sync_file_range' "$T/log")
is "... in windows that are written back" "$((ranges >= 4))" 1
for n in 1 2 $((ranges - 1)) "$ranges"; do
  with_old
  faulty worker:pwritev2:1+:EOPNOTSUPP worker:sync_file_range:"$n":EIO -- save --cache=drop "$file" < "$T/long"
  kept "... write-back $n of $ranges fails: not committed, though fsync succeeds" \
    "1 failed untouched $(field synced) writing back EIO"
done

# ---- direct I/O that is refused in mid-stream -----------------------------------------

save worker:pwrite64:5:EINVAL -- save
is "a direct write is refused in mid-stream: committed, with what happened in the record" \
  "$status $(field outcome) $(field cache) $(field cache_why)" \
  "0 committed drop direct I/O was refused at offset $((4 * buffer)): Invalid argument"
check "... the bytes are right" is_new
is "... with a warning" "$(grep -c 'warning: direct I/O was refused' "$err")" 1
save worker:pwrite64:1:EINVAL -- save
is "... so at the first byte, where the choice was ours" "$status $(field cache)" "0 drop"
check "... the bytes are right" is_new
save worker:pwrite64:1:EINVAL -- save --cache=direct
kept "... but with --cache=direct it fails" "1 failed untouched false writing EINVAL"

for n in 1 5; do
  cp "$T/stream" "$file"
  "$PYTHON" -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR); os.fsync(fd); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)' "$file"
  faulty worker:pread64:$n:EINVAL -- restore "$file" > "$T/out"
  is "a direct read is refused, the ${n}th: delivered, with what happened in the record" \
    "$status $(field outcome) $(field cache) $(field cache_why)" \
    "0 delivered drop direct I/O was refused at offset $(((n - 1) * buffer)): Invalid argument"
  is "... the bytes are right" "$(cmp "$T/out" "$T/stream" && echo same)" same
done
"$PYTHON" -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)' "$file"
faulty worker:pread64:1:EINVAL -- restore --cache=direct "$file" > "$T/out"
is "... but with --cache=direct it fails, with nothing delivered" \
  "$status $(field outcome) $(field error.operation) $(field error.errno) $(stat -c %s "$T/out")" \
  "1 failed reading EINVAL 0"

# ---- reading ----------------------------------------------------------------------------

for n in 1 12 25; do
  at=$(((n - 1) * buffer))
  "$PYTHON" -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)' "$file"
  faulty worker:pread64:$n:EIO -- restore "$file" > "$T/out"
  is "restore, read $n fails: EIO is no end of file, and its offset is told" \
    "$status $(field outcome) $(field error.errno) $(field error.offset) $(field bytes)" "1 failed EIO $at $at"
  is "... what came before it was delivered" \
    "$(stat -c %s "$T/out") $(cmp -n $at "$T/out" "$T/stream" && echo same)" "$at same"
done

done_testing
