#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# find_cuda.sh [TOOLKIT]: prints the folder with the headers of the CUDA Toolkit; prints nothing and
# exits with 1 if there is none.  If TOOLKIT is given, only that folder is searched.
set -eu

has_headers() {
  [ -f "$1/cuda.h" ] && [ -f "$1/cudaTypedefs.h" ] && [ -f "$1/nvrtc.h" ]
}

# look_in TOOLKIT...: print the first folder with headers, and exit.
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
