#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# t-usage.sh - a request that cannot be carried out: status 2, one clear line,
# and nothing touched.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_cmd "$PYTHON"

d=$T/d file=$T/d/vm.sav err=$T/err
mkdir "$d"
printf old > "$file"
state () { (cd "$d" && stat -c '%n %i %s %Y %Z %a' . ./* && cat vm.sav); }
before=$(state)
helper () { run 60 "$IOHELPER" "$@" 2> "$err"; }

# judge SENTENCE STATUS WORD...: refused, in one line that has all WORDs
judge ()
{
  local sentence=$1 status=$2 wrong='' word
  shift 2
  [ "$status" = 2 ] || wrong="status $status"
  [ "$(wc -l < "$err")" = 1 ] || wrong="$wrong, $(wc -l < "$err") lines"
  [ "$(head -c 10 "$err")" = 'iohelper: ' ] || wrong="$wrong, another beginning"
  [ ! -s "$T/out" ] || wrong="$wrong, something on stdout"
  [ "$(state)" = "$before" ] || wrong="$wrong, something was touched"
  for word; do
    grep -qF -e "$word" "$err" || wrong="$wrong, no '$word' in the line"
  done
  if [ -z "$wrong" ]; then
    ok "$sentence"
  else
    not_ok "$sentence"
    diag "$wrong: $(cat "$err")"
    before=$(state)
  fi
}

# refused WORDS-OF-THE-LINE ARGUMENTS...
refused ()
{
  local words=$1 status
  shift
  printf stream | helper "$@" > "$T/out"
  status=$?
  # shellcheck disable=SC2086 # a list
  judge "refused: iohelper$(printf " '%.60s'" "${@//$T\//}")" "$status" $words
}

# ---- verbs and options ------------------------------------------------------------

refused "save restore"
refused "sav" sav "$file"
refused "save" "$file"
refused "save restore" "$file" extra
refused "save" -- save "$file"
refused "--cache" --cache=keep save "$file"
refused "--no-such" save --no-such "$file"
refused "--no-such" save --no-such=5 "$file"
refused "-q" save -q "$file"
refused "-x ./-x" save -x
for short in --cach=keep --buffer=1M --res="$T/r" --q --no-clob --in-pl --len=5 --verb; do
  refused "unknown ${short%%=*}" save "$short" "$file"
done
refused "--in-place restore" restore --in-place "$file"
refused "--sync" restore --sync=none "$file"
refused "--mode" restore --mode=600 "$file"
refused "--require" restore --require=none "$file"
refused "--commit-fd" restore --commit-fd=9 "$file"
refused "--size" restore --size=5 "$file"
refused "--result-dir" save --result-dir="$d" "$file"
refused "--quiet value" save --quiet=yes "$file"
refused "--cache value" save "$file" --cache
refused "FILE" save
refused "FILE" restore --cache=keep
refused "FILE" save --
refused "FILE empty" save ''
refused "second" save "$file" "$d/other"
refused "command" save "$file" --

# ---- values -------------------------------------------------------------------------

refused "--cache auto direct drop keep" save --cache=none "$file"
refused "--cache" save --cache= "$file"
refused "--cache" save --cache=Direct "$file"
refused "--sync none data full" save --sync=all "$file"
refused "--engine uring" save --engine=dd "$file"
refused "--require qemu" save --require=vmware "$file"
for size in 1KB 1kB 1k '' K -1 +1 1.5M 0x10 ' 1' '1 ' 1P 99999999999999999999 9999999999G 8388608T; do
  refused "--expect-length" save --expect-length="$size" "$file"
done
refused "--buffer-size 67108864" save --buffer-size=1G "$file"
refused "--buffer-size" save --buffer-size=0 "$file"
refused "--memory" save --memory=1 "$file"
for mode in '' 8 0o600 u+r 77777 -1; do
  refused "--mode octal" save --mode="$mode" "$file"
done
for fd in '' x -1 1x 99999999999; do
  refused "--result-fd" save --result-fd="$fd" "$file"
done
refused "--result-fd 77 open" save --result-fd=77 "$file"
refused "--commit-fd 77 open" save --commit-fd=77 "$file"
exec 5< "$file" 6> "$T/six" 8<> "$T/eight"
refused "--commit-fd=6 reading" save --commit-fd=6 "$file"
refused "--result-fd=5 writing" save --result-fd=5 "$file"
refused "--fd=77 not open" save --fd=77 "$file"
refused "--fd=5 writing" save --fd=5 "$file"
refused "--fd=6 reading" restore --fd=6 "$file"
refused "--manager-fd=77 open" save --manager-fd=77 "$file"
refused "--manager-fd=5 writing" save --manager-fd=5 "$file"
refused "--manager-fd=8 socket" save --manager-fd=8 "$file"
exec 5<&- 6>&- 8>&-
refused "--result" save --result= "$file"

# ---- what does not go together ---------------------------------------------------------

refused "--result-fd=0" save --result-fd=0 "$file"
refused "--commit-fd=0" save --commit-fd=0 "$file"
refused "--result-fd=1" restore --result-fd=1 "$file"
refused "--result-fd=1" save --result-fd=1 -
refused "--fd=0" save --fd=0 "$file"
refused "--fd=1" restore --fd=1 "$file"
printf stream | helper save --fd=7 --result-fd=7 "$file" 7> "$T/seven" > "$T/out"
judge "refused: a result descriptor that is the data's" $? --result-fd=7
refused "--length --expect-length" save --length=5 --expect-length=6 "$file"
refused "--result FILE" save --result="$file" "$file"
refused "--result FILE" save --result="$d/../d/vm.sav" "$file"
refused "--cache" save --result="$file" --cache=nonsense "$file"
refused "--cache" save --cache=nonsense --result="$file" "$file"
refused "--cache" save "$file" --cache=nonsense --result="$file"
refused "--in-place" save --offset=5 "$file"
refused "--in-place" save --in-place -
refused "--no-clobber" save --no-clobber -
refused "--mode" save --mode=600 -
refused "--offset" save --offset=5 /dev/null
refused "--cache=direct" save --cache=direct /dev/null
refused "--offset" restore --offset=4 "$file"
printf x > "$T/both"
# shellcheck disable=SC2094 # that is the point
helper save --in-place "$T/both" < "$T/both" > "$T/out"
judge "refused: the same file as source and destination" $? both

# ---- FILE ---------------------------------------------------------------------------------

refused "missing No such" restore "$d/missing"
refused "missing No such" save "$d/missing/vm.sav"
refused "vm.sav Not" save "$file/x"
refused "directory" save "$d"
refused "directory" save "$d/"
refused "directory" save .
refused "directory" restore "$d"
refused "long" save "$d/$(head -c 300 /dev/zero | tr '\0' n)"
refused "result" save --result="$d/missing/r" "$file"
refused "result" save --result="$d" "$file"
refused "result" save --result=/dev/null "$file"

if [ "$(id -u)" = 0 ]; then
  chmod 755 "$T"
  cp "$IOHELPER" "$T/iohelper" && chmod 755 "$T/iohelper" "$d"
  before=$(state)
  as_nobody () { printf stream | run 60 setpriv --reuid=65534 --regid=65534 --clear-groups "$T/iohelper" "$@" 2> "$err" > "$T/out"; }
  if setpriv --reuid=65534 --regid=65534 --clear-groups "$T/iohelper" --version > "$T/o" 2>&1; then
    as_nobody save "$d/mine"
    judge "refused: a folder that may not be written" $? denied
    as_nobody save --in-place "$file"
    judge "refused: a file that may not be written" $? denied
    chmod 600 "$file"
    before=$(state)
    as_nobody restore "$file"
    judge "refused: a file that may not be read" $? denied
    as_nobody save --result="$d/r" /dev/null
    judge "refused: a --result that may not be written" $? denied
  else
    skip "refused: what may not be read or written" "$(head -n 1 "$T/o")"
  fi
  folder=$(tmpfs 1M)
  mount -o remount,ro "$folder"
  printf stream | helper save "$folder/x" > "$T/out"
  judge "refused: a file system that is read-only" $? "Read-only"
else
  skip "refused: what may not be read or written" "root is needed"
fi

# ---- terminals ------------------------------------------------------------------------------

tty () { run 10 "$PYTHON" "$top_srcdir/tests/fds.py" "$@"; }
tty 0=tty 2="$err,wronly,creat,trunc" -- "$IOHELPER" save "$d/new" > "$T/out"
judge "refused: a terminal as the stream of a save" $? terminal --allow-tty
tty 1=tty 2="$err,wronly,creat,trunc" -- "$IOHELPER" restore "$file" > "$T/out"
judge "refused: a terminal as the stream of a restore" $? terminal --allow-tty
tty 1=tty 2="$err,wronly,creat,trunc" -- "$IOHELPER" restore --allow-tty "$file" > "$T/out"
is "with --allow-tty it is taken" "$? $(cat "$err")" "0 "

# ---- what looks wrong and is not --------------------------------------------------------------

cd "$d" || exit 1
good () { printf stream | helper "${@:2}" > "$T/out" && [ "$(cat "./$1")" = stream ] && rm "./$1"; }
check "'./-' is a file named '-'" good - save ./-
check "'--' ends the options: a file may be named '--quiet'" good --quiet save -- --quiet
check "'--' ends the options: a file may be named '-x'" good -x save -- -x
check "options may follow FILE" good later save later --cache=keep
check "a value may be a word of its own" good later save --cache keep later
check "sizes take K, M, G and T" good later save --memory=1T --size=6K --length=1G --buffer-size=1M later
check "verbs are no file names: './save'" good save save ./save
helper --help > "$T/out"
is "--help: status 0, on stdout" "$? $(grep -c 'Usage' "$T/out") $(cat "$err")" "0 1 "
helper --version > "$T/out"
is "--version: status 0, name and version" "$? $(grep -cE '^iohelper [0-9]+\.' "$T/out")" "0 1"
helper --help > /dev/full
is "--help that cannot be written: not status 0" "$?" 1

done_testing
