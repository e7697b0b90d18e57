#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The documentation and the program agree; see tools/docs.py.
set -eu
cd "$1"
exec python3 tools/docs.py --check "$2"
