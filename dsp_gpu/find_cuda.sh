#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# find_cuda.sh [TOOLKIT]: prints the folder with the headers of the CUDA Toolkit; nothing, and exit
# code 1, where there is none.  A toolkit that is named is the only one looked at.
set -eu

has_headers() {
  [ -f "$1/cuda.h" ] && [ -f "$1/cudaTypedefs.h" ] && [ -f "$1/nvrtc.h" ]
}

# look_in TOOLKIT...: the first with headers, and done.
look_in() {
  for toolkit; do
    if [ -n "$toolkit" ] && has_headers "$toolkit/include"; then
      echo "$toolkit/include"
      exit 0
    fi
  done
}

if [ -n "${1-}" ]; then
  look_in "$1"
  exit 1
fi

nvcc=$(command -v nvcc || true)
beside_nvcc=
if [ -n "$nvcc" ]; then
  beside_nvcc=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
fi
look_in "${CUDA_PATH-}" "${CUDA_HOME-}" "$beside_nvcc" /usr/local/cuda /opt/cuda /usr
exit 1
