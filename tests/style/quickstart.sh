#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/quickstart renders, plays live and prints its figures, with a program that is already built.  It finds no audio
# server and plays with a timer; a machine with a sound card is left in peace.
set -eu
cd "$1"
build=$(dirname "$2")
for file in /usr/share/sounds/alsa/Front_Center.wav /usr/share/gx_head/sounds/greathall.wav; do
  [ -f $file ] || { echo "$file is missing"; exit 77; }
done
for device in /dev/snd/pcm*; do
  [ ! -e "$device" ] || { echo "would play on $device"; exit 77; }
done
export JACK_DEFAULT_SERVER=warprack-quickstart XDG_RUNTIME_DIR=
status=0
tools/quickstart "$build" >"$build/quickstart.txt" || status=$?
cat "$build/quickstart.txt"
[ $status -eq 0 ] && grep -q 'times as fast as real time' "$build/quickstart.txt"
