#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone, without a warning; headers of kernels are for other compilers.
set -eu
cd "$1"
failed=0
cuda_include=$(dsp_gpu/find_cuda.sh || true)
for header in $(find engine dsp_cpu dsp_gpu io control tools tests -name '*.h' ! -path '*/kernels/*' | sort); do
  case $header in
    dsp_gpu/cuda/* | tests/support/fake_cuda/*) [ -n "$cuda_include" ] || continue ;; # they include the toolkit's
  esac
  # The declaration: a header of macros alone would make an empty translation unit, which C forbids.
  printf '#include "%s"\nextern int nothing;\n' "$header" |
    cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Werror -I. ${cuda_include:+-isystem "$cuda_include"} -fsyntax-only -x c - || failed=1
done
exit $failed
