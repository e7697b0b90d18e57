// SPDX-License-Identifier: GPL-3.0-or-later

#include "host.h"

const FxInfo host_functions = { .name = NULL };
