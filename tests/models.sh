#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# models.sh MODEL.pml: checks every interleaving of a model of a protocol between threads with spin.
#
# The unchanged model must hold, also in its variant MAD if it has one.  Each MUTANT_ in it is a
# deliberate error that the check of one of the variants must find; otherwise the check is too weak.
set -eu

model=$1
for tool in spin cc; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
ccache=$(command -v ccache || true) # the programs of an unchanged model are there from the last run
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$model" "$folder/model.pml"
cd "$folder"

# check OPTIMISATION DEFINE...: search all states; the output is in the file `report`.
check() {
  optimisation=$1
  shift
  spin -a "$@" model.pml >report 2>&1 || { cat report; exit 1; }
  $ccache cc "$optimisation" -w -DSAFETY -c pan.c
  cc -o pan pan.o
  ./pan -m100000 -w20 >report
  if grep -q 'max search depth too small' report; then
    cat report
    exit 1
  fi
}

has_errors() {
  ! grep -q 'errors: 0$' report
}

variants=plain
if grep -q '^#ifdef MAD$' model.pml; then
  variants='plain MAD'
fi

for variant in $variants; do
  check -O1 -D"$variant"
  if has_errors; then
    spin -t -p -g -D"$variant" model.pml | tail -40
    echo "$variant: the model does not hold"
    exit 1
  fi
  echo "$variant: holds; $(grep 'states, stored' report)"
done

mutants=$(grep -o 'MUTANT_[A-Z]*[A-Z_]*[A-Z]' model.pml | sort -u)
[ -n "$mutants" ] || { echo "no mutants"; exit 1; }
status=0
for mutant in $mutants; do
  found=
  for variant in $variants; do
    check -O0 -D"$variant" -D"$mutant" # soon over
    if has_errors; then
      found=$(sed -n 's/^pan:1: //p' report)
      break
    fi
  done
  if [ -n "$found" ]; then
    echo "$mutant: found: $found"
  else
    echo "$mutant: NOT FOUND"
    status=1
  fi
done
exit $status
