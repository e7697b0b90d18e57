#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# clang-tidy reports nothing for the sources.  Its analyzer, which takes minutes, is left to
# `tools/check tidy`.
set -eu
cd "$1"
build=$(dirname "$2")
git rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: not a git checkout"; exit 77; }
command -v clang-tidy >/dev/null || { echo "skipped: no clang-tidy"; exit 77; }

git ls-files '*.c' | grep -v '^tests/' |
  xargs -n 16 -P 2 clang-tidy -p "$build" --quiet --checks='-clang-analyzer-*' --warnings-as-errors='*' 2>/dev/null
