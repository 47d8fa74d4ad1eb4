#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# demo.sh - the main job, on this machine: installs what is missing, builds,
# saves a fake VM's stream to disk with direct I/O, restores it, compares.
#
#   sh tests/demo.sh [DIRECTORY]    where the image goes; default: here
set -eu
cd "$(dirname "$0")/.."
top=$PWD
build=${IOH_BUILD_DIR:-$top/build-demo}
. tests/setup.sh
setup_packages build

mkdir -p "$build"
log=$build/demo-build.log
echo "building in $build ..."
if ! {
  { [ -x configure ] || autoreconf -fi; } &&
    cd "$build" && { [ -f Makefile ] || "$top/configure" --quiet; } &&
    make -s -j"$(nproc)" all tests/fake-vm
} >"$log" 2>&1; then
  tail -n 30 "$log"
  echo "the build failed; its log is $log"
  exit 1
fi

cd "$build"
image=${1:-$build}/demo.vm
record=$build/demo.json
size=512M
trap 'rm -f "$image"' EXIT

echo "saving a stream of $size, shaped like QEMU's, to $image"
tests/fake-vm write --kind=qemu --size=$size |
  iohelper/iohelper save --verbose --result="$record" "$image"
echo "restoring it, and comparing every byte"
iohelper/iohelper restore --verbose "$image" | tests/fake-vm check --kind=qemu --size=$size
echo "the save's record:"
python3 -m json.tool "$record"
echo "OK: the stream that was restored is the stream that was saved"
