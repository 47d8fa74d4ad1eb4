#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Stands in for the helper under `make check-valgrind`: both its processes run
# under valgrind, whose findings become exit status 99.
: "${top_builddir:?}" "${top_srcdir:?}"
exec valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
  --suppressions="$top_srcdir/tests/valgrind.supp" "$top_builddir/iohelper/iohelper" "$@"
