#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# All C sources, except headers of others, have the format of .clang-format. `tools/check format` repairs them.
set -eu
cd "$1"

# Other versions of clang-format format differently, so the test is skipped with them.
clang_format=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$clang_format" ] || ! "$clang_format" --version | grep -q 'version 14\.'; then
  echo "no clang-format 14"
  exit 77
fi
git rev-parse --git-dir >/dev/null 2>&1 || { echo "not a git checkout"; exit 77; }
git ls-files '*.c' '*.cu' '*.h' ':!plugins/clap/include' | xargs "$clang_format" --dry-run --Werror

# clang-format does not change comments, because they have drawings and tables.
# shellcheck disable=SC2016 # the variables are those of Perl
long=$(git ls-files '*.c' '*.cu' '*.h' ':!plugins/clap/include' | LC_ALL=C.UTF-8 xargs perl -CSD -ne '
  $block = 1 if m{^\s*/\*};
  print "$ARGV:$.: $_" if length > 101 && ($block || m{^\s*//});
  $block = 0 if m{\*/};
  close ARGV if eof;')
if [ -n "$long" ]; then
  echo "$long"
  echo "comments end within 100 columns"
  exit 1
fi
