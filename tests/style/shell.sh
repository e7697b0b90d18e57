#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Shell scripts have no syntax errors, and shellcheck, if it is installed, reports nothing.
set -eu
cd "$1"
git rev-parse --git-dir >/dev/null 2>&1 || { echo "not a git checkout"; exit 77; }

failed=0
for script in $(git ls-files | xargs grep -lE '^#!/bin/sh'); do
  sh -n "$script" || failed=1
  if command -v shellcheck >/dev/null; then
    shellcheck "$script" || failed=1
  fi
done
exit $failed
