#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Names that were replaced appear only in NEWS.md, which says what replaced them.
set -eu
cd "$1"
git rev-parse --git-dir >/dev/null 2>&1 || { echo "not a git checkout"; exit 77; }

old='[Cc]lerk|[Ss]ieve|[Ee]rrand|[Bb]efall|[Rr]eckon|[Rr]eviver|[Pp]arcel|take_words|mind_device|note_health'
old="$old|[Pp]eriod_?[Gg]ate|FxSource"
old="$old|(^|[^A-Za-z])(Remote|Runner)|(^|[^A-Za-z])(remote|runner)_"

git grep -qE "$old" -- NEWS.md || { echo "the search finds nothing in NEWS.md, which has such names"; exit 1; }
! git grep -nE "$old" -- . ':!NEWS.md' ':!tests/style/old_names.sh'
