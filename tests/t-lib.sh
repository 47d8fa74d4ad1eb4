#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-lib.sh - the scripts' own harness: results are told truly, a hang ends, and
# nothing is left behind, however a script ends.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

# Runs the lines given as a script of their own, output and status in $T/out.
script ()
{
  printf '#!/bin/bash\n. "%s/tests/lib.sh"\n%s\n' "$top_srcdir" "$1" > "$T/script"
  mkdir -p "$T/inner"
  TMPDIR=$T/inner run 60 env "${@:2}" bash "$T/script" > "$T/out" 2>&1
  echo "status $?" >> "$T/out"
}

# What is left of the script's folder; nothing is wanted.
left ()
{
  find "$T/inner" -mindepth 1
}

script 'ok a; is b x x; check c true; check_fails d false; done_testing'
is "a script that passes says so" "$(cat "$T/out")" "$(printf '%s\n' \
  "ok 1 - a" "ok 2 - b" "ok 3 - c" "ok 4 - d" "1..4" "status 0")"
script 'not_ok a; is b x y; check c bash -c "echo why; exit 3"; check_fails d true; done_testing'
is "a script that fails says why" "$(cat "$T/out")" "$(printf '%s\n' \
  "not ok 1 - a" "not ok 2 - b" "# got  'x'" "# want 'y'" "not ok 3 - c" "# exit status 3" "# why" \
  "not ok 4 - d" "# exit status 0" "1..4" "# 4 of 4 failed" "status 1")"
script 'check_fails a no-such-program; check_fails b bash -c "kill -9 \$\$"; done_testing'
is "a missing program and a death are no expected failure" "$(grep -c '^not ok' "$T/out")" 2
script 'skip a "no disk"; done_testing' IOH_NO_SKIP=
is "a skip names its reason" "$(cat "$T/out")" "$(printf '%s\n' "ok 1 - a # SKIP no disk" "1..1" "status 0")"
script 'skip a "no disk"; done_testing' IOH_NO_SKIP=1
is "a skip fails where none is allowed" "$(head -n 1 "$T/out"; tail -n 1 "$T/out")" "$(printf '%s\n' "not ok 1 - a" "status 1")"
script 'need_cmd no-such-program; ok a; done_testing' IOH_NO_SKIP=
is "a script whose needs are not met is skipped" "$(cat "$T/out")" "$(printf '%s\n' \
  "1..0 # SKIP the program 'no-such-program' is needed" "status 0")"
script 'need_cmd no-such-program; ok a; done_testing' IOH_NO_SKIP=1
is "a script whose needs are not met fails where no skip is allowed" "$(grep -c '^not ok\|^status 1' "$T/out")" 2
script 'ok a; exit 0'
is "a script that ends early has no plan" "$(grep -c '^1\.\.' "$T/out")" 0

script 'run 1 sleep 60; is a $? 124; wait_for 5 test -d "$T"; is b $? 0; wait_for 1 false; is c $? 1; done_testing'
is "a command and a wait end at their time" "$(grep -c '^ok' "$T/out")" 3
script 'echo "{\"a\": {\"b\": \"x y\"}, \"n\": null, \"t\": true, \"i\": 5}" > "$T/j"
is a "$(json "$T/j" a.b),$(json "$T/j" n),$(json "$T/j" t),$(json "$T/j" i)" "x y,null,true,5"
check_fails b json "$T/j" a.c; check_fails c json "$T/j" n.x; done_testing'
is "values of a record are told" "$(grep -c '^ok' "$T/out")" 3

script 'sleep 1234.5 & echo "$!" > "$T/../pid"; sleep 1234.5' TEST_TIMEOUT=1
is "a script that hangs is ended" "$(grep -c '^Bail out' "$T/out")" 1
gone () { ! kill -0 "$(cat "$T/inner/pid")"; }
check "a script that hangs leaves no process" wait_for 10 gone
script 'sleep 1234.5 > "$T/out" 2>&1 & echo "$!" > "$T/../pid"; ok a; done_testing'
check "a script that ends leaves no process" wait_for 10 gone
rm -f "$T/inner/pid"
is "a script that hangs leaves no folder" "$(left)" ""
script 'trap "" INT TERM; kill -INT $$; ok a; kill -KILL $$'
is "a script that is killed leaves no folder" "$(left)" ""
script 'sleep 1234.5 & trap "exit 5" INT; kill -INT $$; ok a; done_testing'
is "a script is not deaf to SIGINT" "$(tail -n 1 "$T/out")" "status 5"

if [ "$(id -u)" = 0 ] && [ -e /dev/loop-control ]; then
  script 'a=$(loop_fs ext4 64M 4096); b=$(loop_fs xfs 64M); c=$(loop_fs btrfs 128M); d=$(tmpfs 1M); e=$(loop_dev 1M)
for m in "$a" "$b" "$c" "$d"; do check "$m" mountpoint "$m"; done
check "4096" test "$(blockdev --getss "$(findmnt -n -o SOURCE "$a")")" = 4096
check "dev" test "$(blockdev --getsize64 "$e")" = 1048576
check "tmpfs" test "$(stat -f -c %T "$d")" = tmpfs
mkdir "$d/x"; mount -t tmpfs none "$d/x"; cd "$a"; kill -KILL $$'
  is "file systems are made as asked" "$(grep -c '^ok' "$T/out")" 7
  is "nothing stays mounted, attached or written" "$(left; grep -F "$T/inner" /proc/self/mounts; losetup -a | grep -F "$T/inner")" ""
else
  skip "file systems are made as asked" "root and loop devices are needed"
  skip "nothing stays mounted, attached or written" "root and loop devices are needed"
fi

done_testing
