// SPDX-License-Identifier: GPL-3.0-or-later

#include "plugin_environment.h"

#include <stdlib.h>

void
plugin_environment(void)
{
  unsetenv("DISPLAY");
  unsetenv("WAYLAND_DISPLAY");
  setenv("QT_QPA_PLATFORM", "offscreen", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
}
