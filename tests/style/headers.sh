#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone, without a warning, except the headers of kernels, which are for other
# compilers.
set -eu
cd "$1"
failed=0
cuda_include=$(dsp_gpu/find_cuda.sh || true)
lilv_include=$(pkg-config --cflags lilv-0 || true)
for header in $(find engine dsp_cpu dsp_gpu plugins io control tools tests -name '*.h' ! -path '*/kernels/*' ! -path '*/include/*' | sort); do
  case $header in
    plugins/lv2/*) [ -n "$lilv_include" ] || continue ;;
    dsp_gpu/cuda/* | tests/support/fake_cuda/*) [ -n "$cuda_include" ] || continue ;; # includes headers of the toolkit
  esac
  # The declaration avoids an empty translation unit, which C forbids, for a header of macros only.
  # shellcheck disable=SC2086 # several options in lilv_include
  printf '#include "%s"\nextern int nothing;\n' "$header" |
    cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Werror -I. -isystem plugins/clap/include $lilv_include \
      ${cuda_include:+-isystem "$cuda_include"} -fsyntax-only -x c - || failed=1
done
exit $failed
