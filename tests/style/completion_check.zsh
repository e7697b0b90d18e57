# SPDX-License-Identifier: GPL-3.0-or-later
# zsh -f completion_check.zsh FOLDER PROGRAM: checks the completion in FOLDER.  Calls it as zsh does,
# but with functions _describe and _files that print the completions, in place of zsh's own.
folder=$1 program=$2 failed=0

# The plugins of this machine are not a part of this test.
export XDG_CACHE_HOME=$(mktemp -d)
trap 'rm -rf "$XDG_CACHE_HOME"' EXIT
export WARPRACK_USUAL_PLUGINS=none

fpath=($folder $fpath)
autoload -U compinit
compinit -u -D
if [[ $_comps[warprack] != _warprack ]]; then
  echo "compinit does not find _warprack in $folder"
  exit 1
fi
autoload -U +X _warprack

_describe() {
  local array=${@[-1]}
  print -rl -- ${${(P)array}%%:*}
}
_files() { print -r -- '<files>' }
described() {
  _describe() {
    local array=${@[-1]}
    print -rl -- ${(P)array}
  }
}

# complete_words WORD...: print the completions of the last word.
complete_words() {
  local words=("$program" "$@") CURRENT=$(($# + 1))
  _warprack
}

# expect OFFERED WORD...: OFFERED must be among the completions of the last WORD.
expect() {
  local offered=$1
  shift
  if ! complete_words "$@" | grep -qxF -- "$offered"; then
    echo "after 'warprack $*' there is no '$offered' but: $(complete_words "$@" | tr '\n' ' ')"
    failed=1
  fi
}

subcommands=($("$program" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'))
offered=($(complete_words ''))
for command in $subcommands; do
  if ((!$offered[(Ie)$command])); then
    echo "after 'warprack' there is no '$command' but: $offered"
    failed=1
  fi
  wanted=($("$program" $command --help | grep -o '^  \(-., \|    \)--[a-z][a-z-]*' | grep -o -- '--.*'))
  given=($(complete_words $command --))
  missing=(${wanted:|given})
  if (($#missing)); then
    echo "after 'warprack $command --' there is no $missing"
    failed=1
  fi
done
expect effects list ''
expect plugins list ''
expect lv2 list --format ''
expect gain info g
expect lv2 info ''
expect callback bench ''
expect --channels bench callback --
expect jack run --io ''
expect opencl check --backend ''
expect --no-realtime run --
expect --realtime run --
expect '<files>' render gain ''
described
expect '--help:Print this help and exit' check -
expect '--backend:Where effects run (default auto)' render --b
expect 'gain:Change the level' check ''
exit $failed
