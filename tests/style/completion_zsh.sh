#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# compinit finds the zsh completion, which offers the same as the bash completion.
set -eu
command -v zsh >/dev/null || exit 77
exec zsh -f "$1/tests/style/completion_check.zsh" "$1/tools/completion" "$2"
