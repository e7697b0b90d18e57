// SPDX-License-Identifier: GPL-3.0-or-later
/// The losses of processes of groups that have not been reported yet.
#ifndef WARPRACK_PLUGINS_GROUP_GROUP_LOSSES_H
#define WARPRACK_PLUGINS_GROUP_GROUP_LOSSES_H

#include "plugins/host_group.h"

/// Add a loss.  Without memory for it, only the number of such losses is reported. [the thread of
/// plugins, while the builder waits]
void group_losses_add(const FxLoss* loss);

/// HostRemote::take_loss. [builder]
bool group_losses_take(FxLoss* loss);

#endif
