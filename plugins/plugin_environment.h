// SPDX-License-Identifier: GPL-3.0-or-later
/// The environment of a process that runs plugins.
#ifndef WARPRACK_PLUGINS_PLUGIN_ENVIRONMENT_H
#define WARPRACK_PLUGINS_PLUGIN_ENVIRONMENT_H

/// Take the display away from this process, and give it plain text without a language: plugins open
/// windows where they find a display, and some end the process where they do not. [main, before
/// other threads]
void plugin_environment(void);

#endif
