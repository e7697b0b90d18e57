// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/suite.h"
SUITE_MAIN("lv2_reference")
