# SPDX-License-Identifier: GPL-3.0-or-later
# bash completion for warprack.  It knows no names: subcommands, options, choices, effects, plugins
# and benchmarks all come from the program's own help and lists.
#
#   source tools/completion/warprack.bash

# Words in the first column of a list that is indented by two blanks.
_warprack_commands() {
  "$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
}

# All options of a help text on stdin; "--[no-]x" is two of them.
_warprack_options() {
  sed -n 's/^  \(-., \|    \)\?\(--[^ ]*\).*/\2/p' | sed 's/^--\[no-\]\(.*\)/--\1\n--no-\1/'
}

# The choices of option $1 in a help text on stdin: "--io auto|jack".
_warprack_choices() {
  sed -n "s/^ .*$1 \([a-z0-9]*|[^ ]*\).*/\1/p" | tr '|' '\n'
}

# Effects, formats of plugins, and plugins; after a format its plugins.
_warprack_described() {
  local program=$1 before=$2 formats
  formats=$("$program" list --help 2>/dev/null | _warprack_choices --format)
  if grep -qxF -- "$before" <<<"$formats"; then
    "$program" list plugins --format "$before" 2>/dev/null | cut -d' ' -f1
  elif [[ $before == info ]]; then
    printf '%s\n' "$formats"
    "$program" list effects 2>/dev/null | cut -d' ' -f1
    "$program" list plugins 2>/dev/null | cut -d' ' -f1
  fi
}

_warprack() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} help words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$(_warprack_commands "$program") --help --version" -- "$word")
    return
  fi
  if [[ $command == bench && $COMP_CWORD -gt 2 ]]; then
    help=$("$program" bench "${COMP_WORDS[2]}" --help 2>/dev/null)
  else
    help=$("$program" "$command" --help 2>/dev/null)
  fi
  if [[ $last == --* ]]; then
    words=$(_warprack_choices "$last" <<<"$help")
  fi
  if [[ -z $words && $word == -* ]]; then
    words=$(_warprack_options <<<"$help")
  elif [[ -z $words && $last != -* ]]; then
    case $command in
      bench) words=$("$program" bench 2>/dev/null | cut -d' ' -f1) ;;
      check | render | run) words=$("$program" list effects 2>/dev/null | cut -d' ' -f1) ;;
      info) words=$(_warprack_described "$program" "$last") ;;
      status) words=$("$program" status 2>/dev/null | cut -d' ' -f1) ;;
      list) [[ $last != list ]] || words=$(sed -n '1s/.* \([a-z]*|[a-z|]*\)\( .*\)\?$/\1/p' <<<"$help" | tr '|' '\n') ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

# With no match: file names, for racks and recordings.
complete -o default -F _warprack warprack
