#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Stands in for the helper under `make check-valgrind`: both its processes run
# under valgrind, whose findings are in the files that VALGRIND_FLAGS names.
: "${top_builddir:?}" "${VALGRIND_FLAGS:?}"
# shellcheck disable=SC2086 # a list of words
exec valgrind $VALGRIND_FLAGS "$top_builddir/iohelper/iohelper" "$@"
