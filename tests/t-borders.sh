#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-borders.sh - streams whose pieces have borders, files that lose their name:
# a save ends whole, or it does not end well.
. "${srcdir:-.}/tests/lib.sh"

file=$T/vm

# Pieces of 3000 bytes through a pipe in packet mode: the status, and the bytes.
packets ()
{
  "$PYTHON" - "$IOHELPER" "$file" "$@" <<'END'
import os, subprocess, sys
data = bytes(i * 7 & 255 for i in range(4096)) * 200
r, w = os.pipe2(os.O_DIRECT)
p = subprocess.Popen([sys.argv[1], "save", *sys.argv[3:], sys.argv[2]], stdin=r)
os.close(r)
for at in range(0, len(data), 3000):
    os.write(w, data[at:at + 3000])
os.close(w)
status = p.wait()
print(status, open(sys.argv[2], "rb").read() == data)
END
}
is "a stream from a pipe in packet mode is saved whole" "$(packets)" "0 True"
is "... also with small buffers" "$(packets --buffer-size=4K)" "0 True"
is "... and from packets into a pipe" "$(packets --in-place)" "0 True"

seqpacket ()
{
  "$PYTHON" - "$IOHELPER" "$T/none" <<'END'
import socket, subprocess, sys
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
p = subprocess.run([sys.argv[1], "save", sys.argv[2]], stdin=a, capture_output=True, text=True)
print(p.returncode, p.stderr.count("\n"))
END
}
is "a socket whose messages have borders is refused in one line" "$(seqpacket)" "2 1"
check "... and nothing is made" test ! -e "$T/none"

# The file is removed, or another takes its name, between two halves of the stream.
under_way ()
{
  echo old > "$file"
  mkfifo "$T/stream"
  "$IOHELPER" save --in-place --quiet --result="$T/record" "$file" < "$T/stream" &
  exec 9> "$T/stream"
  head -c 2000000 /dev/zero >&9
  wait_for 10 test "$(stat -c %s "$file")" -ge 1000000
  "$@"
  exec 9>&-
  wait $!
  echo $?
  rm "$T/stream"
}
replace () { echo other > "$T/other"; mv "$T/other" "$file"; }
is "a file that is removed while it is written in place is not committed" "$(under_way rm "$file")" 1
is "... and the record says failed" "$(json "$T/record" outcome)" failed
is "a file whose name another takes is not committed" "$(under_way replace)" 1
is "... and the other is as it was" "$(cat "$file")" other

limit ()
{
  (ulimit -Sc 0; "$IOHELPER" save --quiet "$file" -- sh -c 'ulimit -Sc'; cat "$file")
}
is "COMMAND has the core limit that we were given" "$(limit)" 0
done_testing
