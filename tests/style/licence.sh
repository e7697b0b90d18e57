#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every tracked file has its licence in its first lines, or is listed in REUSE.toml.
set -eu
cd "$1"
git rev-parse --git-dir >/dev/null 2>&1 || { echo "not a git checkout"; exit 77; }

# The path list of REUSE.toml as shell patterns, one per line.
covered=$(sed -n 's/^path = \[\(.*\)\]$/\1/p' REUSE.toml | tr -d '" ' | tr ',' '\n')

is_covered() {
  for pattern in $covered; do
    # shellcheck disable=SC2254 # a pattern on purpose
    case $1 in $pattern) return 0 ;; esac
  done
  return 1
}

set -f # the patterns are for `case`: do not expand them to file names
failed=0
for file in $(git ls-files); do
  case $file in LICENSES/*) continue ;; esac
  if ! head -n 5 "$file" | grep -aq 'SPDX-License-Identifier: GPL-3.0-or-later' && ! is_covered "$file"; then
    echo "$file: no SPDX line in its first five lines, and not in REUSE.toml"
    failed=1
  fi
done
exit $failed
