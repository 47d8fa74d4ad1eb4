#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-pipe.sh - pipes are as large as the system lets them be, which never decides
# whether a relay works; and who holds which descriptor.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON" pgrep

file=$T/vm.sav record=$T/record err=$T/err
size=3000001
new () { "$FAKE_VM" write --size=$size 2> /dev/null; }
field () { json "$record" "$1"; }
limit=$(cat /proc/sys/fs/pipe-max-size)

# ---- size ---------------------------------------------------------------------------

new | "$IOHELPER" save --result="$record" "$file"
is "the pipe of a save is as large as pipe-max-size lets it be, and the record says so" \
  "$? $(field pipe_size)" "0 $limit"
"$IOHELPER" restore --result="$record" "$file" | "$FAKE_VM" check --size=$size > "$T/out"
is "the pipe of a restore, too" "${PIPESTATUS[*]} $(field pipe_size)" "0 0 $limit"
"$IOHELPER" save --result="$record" "$file" -- "$FAKE_VM" write --size=$size
is "the pipe of a command, too" "$? $(field pipe_size)" "0 $limit"
"$IOHELPER" save --result="$record" "$T/copy" < "$file"
is "without a pipe its size is null" "$? $(field pipe_size)" "0 null"

# The pipe itself, asked from outside.
cat > "$T/ask.py" << 'END'
import fcntl, os, subprocess, sys
F_SETPIPE_SZ, F_GETPIPE_SZ = 1031, 1032
r, w = os.pipe()
if sys.argv[1] != "-":
    fcntl.fcntl(w, F_SETPIPE_SZ, int(sys.argv[1]))
child = subprocess.Popen(sys.argv[2:], stdin=r)
os.write(w, b"x")
os.close(w)
status = child.wait()
print(status, fcntl.fcntl(r, F_GETPIPE_SZ))
END
is "... the pipe really is" "$("$PYTHON" "$T/ask.py" - "$IOHELPER" save "$T/copy")" "0 $limit"
is "... libvirt's form does it, too" \
  "$("$PYTHON" "$T/ask.py" - "$IOHELPER" /x/y 1 | tr -d x)" "0 $limit"
is "a pipe of a page is grown as well" \
  "$("$PYTHON" "$T/ask.py" 4096 "$IOHELPER" save "$T/copy")" "0 $limit"

# ---- an unprivileged user without quota ------------------------------------------------

# Takes all the pipe pages that user may have, then runs the command on one more
# pipe, which has two pages or one, and a file of that user's.
cat > "$T/exhaust.py" << 'END'
import fcntl, os, subprocess, sys
F_SETPIPE_SZ, F_GETPIPE_SZ = 1031, 1032
source, direction, target, *command = sys.argv[1:]
os.setgroups([])
os.setresgid(65533, 65533, 65533)
os.setresuid(65533, 65533, 65533)
hold = []
while True:
    ends = os.pipe()
    hold.append(ends)
    try:
        fcntl.fcntl(ends[1], F_SETPIPE_SZ, 1 << 20)
    except PermissionError:
        if fcntl.fcntl(ends[1], F_GETPIPE_SZ) <= 8192:
            break
r, w = os.pipe()
size = fcntl.fcntl(w, F_GETPIPE_SZ)
assert size <= 8192, size
if direction == "save":
    child = subprocess.Popen(command, stdin=r)
    os.close(r)
    other, data = w, open(source, "rb")
    while chunk := data.read(50000):
        while chunk:
            chunk = chunk[os.write(w, chunk):]
    os.close(w)
else:
    child = subprocess.Popen(command, stdout=w)
    os.close(w)
    with open(target, "wb") as f:
        while chunk := os.read(r, 50000):
            f.write(chunk)
print(child.wait(), size)
END
if [ "$(id -u)" = 0 ]; then
  mkdir "$T/theirs"
  cp "$IOHELPER" "$T/theirs/iohelper"
  cp "$file" "$T/theirs/source"
  chmod 755 "$T" "$T/theirs/iohelper"
  chmod 644 "$T/exhaust.py" "$T/theirs/source"
  chown -R 65533:65533 "$T/theirs"
  poor () # DIRECTION FILE-OF-THE-HELPER TARGET
  {
    rm -f "$T/theirs/record"
    (cd / && run 60 "$PYTHON" "$T/exhaust.py" "$T/theirs/source" "$1" "$3" "$T/theirs/iohelper" "$1" \
      --result="$T/theirs/record" "$2")
  }
  record=$T/theirs/record
  got=$(poor save "$T/theirs/vm.sav" -)
  page=${got#0 }
  is "an unprivileged user whose pipe quota is used up: the save works" "${got% *}" 0
  is "... every byte is there" "$(cmp "$file" "$T/theirs/vm.sav" 2>&1)" ""
  is "... the record has the size that the pipe really has" "$(field pipe_size)" "$page"
  got=$(poor restore "$T/theirs/source" "$T/theirs/out")
  is "... the restore works, too" "${got% *}" 0
  is "... every byte is there" "$(cmp "$file" "$T/theirs/out" 2>&1)" ""
  is "... the record has the size that the pipe really has" "$(field pipe_size)" "$page"
  record=$T/record
else
  skip "an unprivileged user whose pipe quota is used up" "root is needed to become one"
fi

# ---- who holds what ---------------------------------------------------------------------

# Links of a process's descriptors below $T, as "NUMBER:NAME ...".
held () { find "/proc/$1/fd" -lname "$T/*" -printf '%f:%l\n' | sed "s|$T/||" | sort -n | tr '\n' ' '; }
waits ()
{
  worker=$(pgrep -P "$pid") && grep -q pipe_read "/proc/$worker/wchan"
}

mkfifo "$T/in" "$T/commit"
ulimit -S -c "$(ulimit -H -c)"
"$IOHELPER" save --fd=7 --commit-fd=9 --result-fd=8 name \
  < "$T/in" 7> "$T/seven" 8> "$T/by-fd" 9<> "$T/commit" > "$T/stdout" 2> "$err" &
pid=$!
exec 5> "$T/in"
if wait_for 10 waits; then
  is "the controller holds no end of the data" "$(held "$pid")" "1:stdout 2:err 8:by-fd 9:commit "
  is "the worker holds the data's two ends, and nothing else of ours" "$(held "$worker")" \
    "0:in 7:seven "
  is "... and no core dump of it can hold guest memory" \
    "$(sed -n 's/^Max core file size *\([0-9]*\) .*/\1/p' "/proc/$worker/limits")" 0
else
  not_ok "the helper waits for its stream"
fi
printf y > "$T/commit"
printf stream >&5
exec 5>&-
wait "$pid"
is "... so it ends well" "$? $(cat "$T/seven")" "0 stream"

"$IOHELPER" save --result="$record" "$file" < "$T/in" > "$T/stdout" 2> "$err" &
pid=$!
exec 5> "$T/in"
if wait_for 10 waits; then
  is "with FILE: the controller has nothing of it" "$(held "$pid")" "1:stdout 2:err "
else
  not_ok "the helper waits for its stream"
fi
# Were a writing end of the pipe still with the helper, there would be no end.
exec 5>&-
run 10 tail --pid="$pid" -f /dev/null
is "end of file is seen when the last writer closes" "$?" 0

done_testing
