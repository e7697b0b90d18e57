#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# systemd accepts the units, and rates the exposure of the system unit below 2.5 of 10.
set -eu
command -v systemd-analyze >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_RUNTIME_DIR="$folder"

# Verify a unit: fails if systemd-analyze fails, or prints a warning.
verify() {
  if ! words=$(systemd-analyze verify --man=no "$@" 2>&1) || [ -n "$words" ]; then
    echo "$words"
    return 1
  fi
}

for unit in warprack warprack-user; do
  sed "s#@PROGRAM@#$2#" "$1/tools/systemd/$unit.service.in" >"$folder/$unit.service"
done
verify "$folder/warprack.service"
verify --user "$folder/warprack-user.service"
for unit in warprack warprack-user; do
  if ! grep -qx OOMPolicy=continue "$folder/$unit.service"; then
    echo "$unit.service is stopped when the kernel kills a worker for its memory"
    exit 1
  fi
done
systemd-analyze security --offline=true --threshold=25 "$folder/warprack.service" | tail -n 1

sed 's/^Type=/Tyype=/' "$folder/warprack.service" >"$folder/wrong.service"
if verify "$folder/wrong.service" >/dev/null; then
  echo "systemd-analyze accepts a unit with an invalid key"
  exit 1
fi
