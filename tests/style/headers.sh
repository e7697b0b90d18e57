#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone, without a warning; those of kernels are for other compilers.
set -eu
cd "$1"
failed=0
for header in $(find engine dsp_cpu dsp_gpu io control tools tests -name '*.h' ! -path '*/kernels/*' | sort); do
  # The declaration: a header of macros alone would make an empty translation unit, which C forbids.
  printf '#include "%s"\nextern int nothing;\n' "$header" |
    cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Werror -I. -fsyntax-only -x c - || failed=1
done
exit $failed
