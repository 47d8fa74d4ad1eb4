# shellcheck shell=sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# setup.sh - sourced: the packages that a fresh Debian 12 lacks, in one place.
#
#   . tests/setup.sh; setup_packages build    to build and run the demo
#   . tests/setup.sh; setup_packages all      for the whole suite

packages_build="autoconf automake libtool gcc libc6-dev make pkg-config perl python3
  libevent-dev libjson-c-dev libglib2.0-dev libjson-glib-dev liburing-dev"
packages_all="$packages_build
  clang libclang-rt-14-dev g++ valgrind strace shellcheck groff-base file xz-utils
  util-linux e2fsprogs xfsprogs btrfs-progs dosfstools attr acl socat jq
  qemu-system-x86 libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients
  iproute2 libfuse3-dev fuse3"

as_root () {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

setup_packages () { # build|all
  case $1 in
    build) wanted=$packages_build ;;
    *) wanted=$packages_all ;;
  esac
  missing=
  for package in $wanted; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' \
      || missing="$missing $package"
  done
  # The guest's kernel is downloaded, so the lists must be there in any case.
  if [ -z "$missing" ] && { [ "$1" = build ] || ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; }
  then
    return 0
  fi
  echo "installing:$missing" >&2
  as_root apt-get -qq -o DPkg::Lock::Timeout=300 update >&2 || return 1
  # shellcheck disable=SC2086 # a list of words
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing >&2
}
