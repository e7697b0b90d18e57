#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The zsh completion is found by compinit, and offers what the bash completion does.
set -eu
command -v zsh >/dev/null || exit 77
exec zsh -f "$1/tests/style/completion_check.zsh" "$1/tools/completion" "$2"
