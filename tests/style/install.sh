#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# meson install puts the program, its manual page, completions, racks, documents and units into the
# standard folders, and the units can be enabled under their names.
set -eu
root=$1
program=$2
command -v meson >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
DESTDIR=$folder meson install -C "$(dirname "$program")" --no-rebuild --quiet

failed=0
fail() {
  echo "$*"
  failed=1
}
installed=$(find "$folder" -path '*/bin/warprack')
prefix=${installed%/bin/warprack}
prefix=${prefix#"$folder"}
share=$folder$prefix/share

# Racks: they are the same files as in the tree, and the program accepts them.
for rack in "$root"/racks/*.rack; do
  name=$(basename "$rack")
  cmp -s "$rack" "$share/warprack/racks/$name" || fail "share/warprack/racks/$name is not the file of the tree"
done
"$installed" check "$share/warprack/racks/voice.rack" >/dev/null || fail "the installed program fails"

# Documents: their links exist, except those to sources, tests and benchmarks.
for document in $(cd "$share/doc/warprack" && find . -name '*.md'); do
  path=$share/doc/warprack/$document
  links=$(sed -n 's/](\([^)#:]*\.\(md\|rack\|txt\)\)[)#]/\n<\1\n/gp' "$path" | sed -n 's/^<//p')
  [ -n "$links" ] || [ "$document" != ./README.md ] || fail "doc/warprack/$document links to nothing"
  for link in $links; do
    case $link in *tests/* | *bench/*) continue ;; esac
    [ -e "$(dirname "$path")/$link" ] || fail "doc/warprack/$document links to $link, which does not exist"
  done
done

# The manual page: man prints no warning, and the page has every subcommand and every option.
page=$share/man/man1/warprack.1
for command in $("$program" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
  part=$(sed -n "/^.SS warprack $command/,/^.S[SH] /p" "$page" | sed 's/[\]//g')
  [ -n "$part" ] || fail "warprack.1 lacks $command"
  for option in $("$program" "$command" --help | sed -n 's/^  \(-., \|    \)--\([^ ]*\).*/\2/p'); do
    case $part in *"fB--${option}fR"*) ;; *) fail "warprack.1 lacks $command --$option" ;; esac
  done
done
if command -v man >/dev/null; then
  words=$(MANWIDTH=200 LC_ALL=C.UTF-8 man --warnings=w -l "$page" 2>&1 >/dev/null) || fail "man refuses warprack.1"
  [ -z "$words" ] || fail "$words"
fi

# Completions.
bash -n "$share/bash-completion/completions/warprack" || failed=1
if command -v zsh >/dev/null; then
  zsh -f "$root/tests/style/completion_check.zsh" "$share/zsh/site-functions" "$installed" || failed=1
else
  echo "no zsh: its completion is not tested"
fi

# Units: they start the installed program, and can be enabled.
units=$folder$prefix/lib/systemd
for unit in system/warprack.service user/warprack-user.service; do
  start=$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$units/$unit")
  [ -x "$folder$start" ] || fail "$unit starts $start, which does not exist"
done
case $prefix in
  /usr | /usr/local)
    if command -v systemctl >/dev/null; then
      systemctl --root="$folder" enable warprack 2>/dev/null || fail "systemctl enable warprack fails"
      how=$(sed -n 's/^#   systemctl --user enable --now \([^ ]*\).*/\1/p' "$units/user/warprack-user.service")
      systemctl --global --root="$folder" enable "$how" 2>/dev/null || fail "systemctl --user enable $how fails"
      for link in system/multi-user.target.wants/warprack user/default.target.wants/warprack-user user/warprack; do
        [ -L "$folder/etc/systemd/$link.service" ] || fail "systemctl enable did not make $link.service"
      done
    fi ;;
esac
exit $failed
