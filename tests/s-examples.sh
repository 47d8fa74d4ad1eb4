#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# s-examples.sh - the manual's examples do what they are there for.
#
# Each is taken from the manual as it stands.  What cannot be had here stands
# in for what they name: a folder for /srv, a loop device for /dev/vg0/vm1, a
# local shell for ssh, private mounts over libvirt's and dpkg's folders.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

need_cmd jq pkg-config nm

pod=$top_srcdir/man/iohelper.pod
library_pod=$top_srcdir/man/libiowrap.pod
size=3000077

# A verbatim block; blank lines inside it are its own.
example () # NAME
{
  awk -v mark="  # example: $1" '
    on && /^[^ ]/ { exit }
    on && /^  # example: / { exit }
    on { print substr($0, 3) }
    $0 == mark { on = 1 }' "$pod"
}

names ()
{
  sed -n 's/^  # example: //p' "$pod"
}

mkdir "$T/bin" "$T/srv" "$T/work"
ln -s "$IOHELPER" "$T/bin/iohelper"
# As ssh does it: one string, for a shell on the other side.
cat > "$T/bin/ssh" <<'END'
#!/bin/sh
cd "$SSH_HOME" || exit
shift
exec sh -c "$*"
END
chmod +x "$T/bin/ssh"
export PATH=$T/bin:$PATH
cd "$T/work" || exit 1
"$FAKE_VM" write --kind=qemu --size=$size > stream

ran=''
try () # NAME [SED-EXPRESSION]: runs that example in the current folder
{
  ran="$ran$1 "
  example "$1" | sed -e "s|/srv/|$T/srv/|g" ${2:+-e "$2"} > "$T/script"
  [ -s "$T/script" ] && run 60 bash -eu -o pipefail "$T/script"
}

# The command of a QMP message, as QEMU runs it.
qmp () # NAME COMMAND-OF-QMP
{
  local command
  ran="$ran$1 "
  command=$(example "$1" | sed "s|/srv/|$T/srv/|g" | "$PYTHON" -c '
import json, sys
message = json.load(sys.stdin)
assert message["execute"] == sys.argv[1], message
kind, command = message["arguments"]["uri"].split(":", 1)
assert kind == "exec", kind
print(command)' "$2") && run 60 sh -c "$command"
}

qmp_save () { qmp qmp-save migrate < stream; }
qmp_save_cut () { head -c 2000000 stream | qmp qmp-save migrate; }
qmp_restore () { qmp qmp-restore migrate-incoming > copy; }

check "example filter saves and restores" try filter
check "example filter restores what was saved" cmp stream copy
rm -f copy vm1.sav
is "example outcome says that it saved" "$(try outcome)" saved
try outcome > /dev/null
is "example outcome leaves a record" "$(json vm1.json outcome)" committed
: > empty.sav
mv stream whole; head -c 2000000 whole > stream
is "example outcome says so, with the status, when the stream is cut" \
  "$(try outcome 2>&1 | tail -n 1)" "not saved, status 3; vm1.sav is as it was"
check "the file is then as it was" cmp vm1.sav whole
mv whole stream

check "example qmp-save saves" qmp_save
check "example qmp-outcome agrees" try qmp-outcome
is "example python tells length and evidence" "$(try python)" "$size bytes, evidence: format"
check "example qmp-restore restores" qmp_restore
check "example qmp-restore restores what was saved" cmp stream copy
check_fails "example qmp-save fails for a stream that is cut" qmp_save_cut
check_fails "example qmp-outcome disagrees then" try qmp-outcome
check_fails "example python fails then" try python
rm -f copy

export SSH_HOME=$T/srv
check "example ssh-from copies from the other side" try ssh-from
check "example ssh-from copies all" cmp stream vm1-copy.sav
mv vm1-copy.sav vm1.sav
check "example ssh-to copies to the other side" try ssh-to
check "example ssh-to copies all" cmp stream "$SSH_HOME/vm1-copy.sav"

check "example command compresses and restores" try command
check "example command restores what was saved" cmp stream copy
check "example command leaves a compressed file" xz -t vm1.sav.xz
rm -f copy

device=''
[ "$(id -u)" != 0 ] || device=$(loop_dev 8M)
if [ -n "$device" ]; then
  head -c 8M /dev/urandom > "$device"
  check "example block-device saves and restores" try block-device "s|/dev/vg0/vm1|$device|"
  check "example block-device restores what was saved" cmp stream copy
else
  ran="${ran}block-device "
  skip "example block-device" "no loop device"
fi

# ---- libvirt: everything happens under mounts that only this script sees -------

libvirt=/usr/lib/libvirt
ran="${ran}bind bind-undo divert divert-undo "
for name in bind bind-undo divert divert-undo; do
  example $name | sed "s|/usr/bin/iohelper|$IOHELPER|g" > "$T/$name.sh"
done
cat > "$T/private.sh" <<'END'
set -eu
libvirt=/usr/lib/libvirt
mount -t tmpfs tmpfs "$T/over"
for folder in "$libvirt" /var/lib/dpkg; do
  name=${folder##*/}
  mkdir "$T/over/$name" "$T/over/$name-work"
  mount -t overlay overlay \
    -o "lowerdir=$folder,upperdir=$T/over/$name,workdir=$T/over/$name-work" "$folder"
done
cp "$libvirt/libvirt_iohelper" "$T/over/stock"
ours () {
  printf 'some state' | "$libvirt/libvirt_iohelper" /no/such/file 1 1<> "$T/over/image"
  [ "$(cat "$T/over/image")" = 'some state' ]
  "$libvirt/libvirt_iohelper" --help | grep -q 'FILENAME is only a name for messages'
}
stock () { cmp "$libvirt/libvirt_iohelper" "$T/over/stock"; }
stock
. "$T/$1.sh"
ours
. "$T/$1-undo.sh"
stock
[ ! -e "$libvirt/libvirt_iohelper.stock" ]
END
mkdir "$T/over"
if [ "$(id -u)" = 0 ] && [ -x $libvirt/libvirt_iohelper ] && [ -d /var/lib/dpkg ]; then
  for name in bind divert; do
    check "example $name puts ours in libvirt's place, and $name-undo takes it away" \
      run 60 unshare -m bash "$T/private.sh" $name
  done
else
  skip "examples bind and divert" "they need root, Debian, and libvirt's helper"
fi

is "each example of iohelper(1) was run" "$(for n in $ran; do echo "$n"; done | sort -u)" \
  "$(names | sort -u)"

# ---- libiowrap(3) ---------------------------------------------------------------

c_example () # NAME
{
  awk -v mark="  /* example: $1 " '
    on && /^[^ ]/ { exit }
    index($0, mark) == 1 { on = 1 }
    on { print substr($0, 3) }' "$library_pod"
}

# A sanitized library takes a sanitized program.
sanitizers ()
{
  nm -D "$top_builddir/libwrap/.libs/libiowrap.so" | grep -o '__[at]san_init' | sort -u \
    | sed 's/__asan_init/-fsanitize=address,undefined/; s/__tsan_init/-fsanitize=thread/'
}

compile ()
{
  # shellcheck disable=SC2046,SC2086 # flags are words
  ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror $(sanitizers) -I"$top_srcdir/libwrap" \
    -o examples main.c save.c restore.c settings.c \
    "$top_builddir/libwrap/.libs/libiowrap.so" -Wl,-rpath,"$top_builddir/libwrap/.libs" \
    $(pkg-config --cflags --libs gio-2.0)
}

is "libiowrap(3) has the examples that are compiled here" \
  "$(sed -n 's|^  /\* example: \([a-z]*\) .*|\1|p' "$library_pod" | tr '\n' ' ')" \
  "save restore settings "
for name in save restore settings; do
  c_example $name > $name.c
done
cat > main.c <<'END'
#include <iowrap.h>
#include <string.h>
gboolean save (const char *path, gboolean (*produce) (int, GError **), GError **error);
gboolean restore (const char *path, gboolean (*consume) (int, GError **), GError **error);
IowRelay *start (const char *path, GError **error);

static char state[3000077], got[sizeof state + 1];

static gboolean
produce (int fd, GError **error)
{
  return iow_fd_write_all (fd, state, sizeof state, NULL, NULL, error);
}

static gboolean
produce_half (int fd, GError **error)
{
  if (iow_fd_write_all (fd, state, sizeof state / 2, NULL, NULL, error))
    g_set_error (error, IOW_ERROR, IOW_ERROR_SOURCE, "half");
  return FALSE;
}

static gboolean
consume (int fd, GError **error)
{
  gsize n;
  return iow_fd_read_full (fd, got, sizeof got, &n, NULL, error) && n == sizeof state;
}

int
main (void)
{
  g_autoptr (GError) error = NULL;
  for (size_t i = 0; i < sizeof state; i++)
    state[i] = (char) (i * 2654435761u >> 13);
  if (!save ("vm", produce, &error) || !restore ("vm", consume, &error))
    g_error ("%s", error ? error->message : "the length differs");
  g_assert_cmpint (memcmp (state, got, sizeof state), ==, 0);
  g_assert_false (save ("vm", produce_half, &error));
  g_assert_error (error, IOW_ERROR, IOW_ERROR_SOURCE);
  g_clear_error (&error);
  memset (got, 0, sizeof got);
  if (!restore ("vm", consume, &error))
    g_error ("%s", error ? error->message : "the length differs");
  g_assert_cmpint (memcmp (state, got, sizeof state), ==, 0);
  g_assert_null (start ("vm", &error));
  g_assert_error (error, IOW_ERROR, IOW_ERROR_EXISTS);
  return 0;
}
END
if [ -e "$top_builddir/libwrap/.libs/libiowrap.so" ]; then
  check "the examples of libiowrap(3) compile without a warning" compile
  check "they save, restore, cancel, and keep what exists" \
    env IOWRAP_HELPER="$IOHELPER" ./examples
else
  skip "the examples of libiowrap(3)" "the library is not built"
fi

done_testing
