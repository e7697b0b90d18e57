#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The bash completion offers every subcommand, their options and choices, and the effects.
set -eu
root=$1
program=$2
# shellcheck disable=SC1091 # checked separately
source "$root/tools/completion/warprack.bash"

# The plugins of this machine are not a part of this test.
XDG_CACHE_HOME=$(mktemp -d)
trap 'rm -rf "$XDG_CACHE_HOME"' EXIT
export XDG_CACHE_HOME WARPRACK_USUAL_PLUGINS=none

# complete_words WORD...: print the completions of the last word.
complete_words() {
  COMP_WORDS=("$program" "$@")
  COMP_CWORD=$#
  _warprack
  printf '%s\n' "${COMPREPLY[@]}"
}

failed=0
# expect OFFERED WORD...: OFFERED must be among the completions of the last WORD.
expect() {
  local offered=$1
  shift
  if ! complete_words "$@" | grep -qxF -- "$offered"; then
    echo "after 'warprack $*' there is no '$offered' but: $(complete_words "$@" | tr '\n' ' ')"
    failed=1
  fi
}

for command in $("$program" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
  expect "$command" ''
  expect --help "$command" --
done
expect list l
expect --json list --
expect effects list ''
expect plugins list ''
expect lv2 list --format ''
expect gain info g
expect lv2 info l
expect --all scan --
expect callback bench ''
expect --channels bench callback --
expect jack run --io ''
expect --no-connect run --no
if complete_words info g | grep -qv '^g'; then
  echo "a completion of 'g' does not begin with g"
  failed=1
fi
exit $failed
