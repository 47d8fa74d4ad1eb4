#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# s-examples.sh - the examples of iohelper(1) do what they say.
#
# Each "=for example NAME" in the page is followed by the text of one.  They
# run in a folder where the names that they use exist: a hypervisor that dumps
# and loads a fake VM, an ssh that runs the command here, a virsh that calls
# libvirt's helper as libvirtd does.
# shellcheck disable=SC2094,SC2238 # files are named after their examples
. "${srcdir:-.}/tests/lib.sh"
need_root

page=$top_srcdir/man/iohelper.pod
mkdir "$T/bin" "$T/run"
cd "$T/run" || bail_out 'no folder to run in'
PATH=$T/bin:$PATH

program () { # NAME: text on stdin
  { echo '#!/bin/sh'; cat; } >"$T/bin/$1"
  chmod +x "$T/bin/$1"
}

program iohelper <<<"exec '$IOHELPER' \"\$@\""
program hypervisor-dump <<<"exec '$FAKE_VM' write --kind=qemu --size=3000001"
program hypervisor-load <<<"exec '$FAKE_VM' check --kind=qemu --size=3000001"
program ssh <<<'shift; exec sh -c "$*"'

example () { # NAME
  awk -v name="$1" '
    $1 == "=for" && $2 == "example" { on = $3 == name; next }
    on && /^[^ ]/ { exit }
    on { print }' "$page"
}

names=$(awk '$1 == "=for" && $2 == "example" { print $3 }' "$page" | sort | tr '\n' ' ')
is 'every example of the page is one of those below' "$names" \
  'command device filter libvirt qmp-restore qmp-save record ssh '

whole () { # FILE
  "$FAKE_VM" check --kind=qemu --size=3000001 <"$1"
}

example filter >filter
check 'the filter saves a stream and restores it' sh -e filter
check '... whole' whole vm.sav
rm vm.sav
example command >command
check 'the command is run and its stream saved' sh -e command
check '... whole' whole vm.sav
rm vm.sav

example qmp-save | "$PYTHON" -c '
import json, sys
print(json.load(sys.stdin)["arguments"]["uri"][5:])' >qmp-save
check 'the QMP request is JSON, and its command saves what QEMU pipes to it' \
  sh -c 'hypervisor-dump | sh qmp-save'
check '... whole' whole vm.sav
example record >record
is 'the record is read as shown' "$(sh -e record | tr '\n' ' ')" 'committed None '
example qmp-restore | sed -n 's/.*-incoming "exec:\(.*\)"/\1/p' >qmp-restore
check 'the command of -incoming restores it' sh -c 'sh qmp-restore | hypervisor-load'
rm vm.sav

"$FAKE_VM" write --kind=qemu --size=3000001 >vm.remote
example ssh >over-ssh
check 'a stream comes over ssh' sh -e over-ssh
check '... whole' whole vm.sav

DEVICE=$(loop_dev 8M 512)
export DEVICE
example device >device
check 'a device takes a stream and gives it back' sh -e device

helper=/usr/lib/libvirt/libvirt_iohelper
before=$(sha256sum $helper)
program virsh <<<'
  [ "$1 $2 $4" = "save guest --bypass-cache" ] || exit 1
  hypervisor-dump | /usr/lib/libvirt/libvirt_iohelper "$3" 1 >'"'$T/run/by-virsh'"
# A bind mount needs the program itself, not the stand-in above.
example libvirt | sed "s,\$(command -v iohelper),$IOHELPER,; s,^    umount,    cmp $helper '$IOHELPER'; umount," >libvirt
check "libvirt's helper is covered, used, and back again" unshare --mount sh -e libvirt
check '... and the stream that went through it is whole' whole by-virsh
is "... and libvirt's own is what it was" "$(sha256sum $helper)" "$before"
done_testing
