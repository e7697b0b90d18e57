// SPDX-License-Identifier: GPL-3.0-or-later
// The list of losses, which grows as it must: an edit may start and lose many processes.

#include "group_losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LOSSES 8U

static FxLoss* losses; // [max_losses]
static uint32_t n_losses, max_losses;
static uint32_t n_unnamed; // losses for which there was no memory

void
group_losses_add(const FxLoss* const loss)
{
  if (n_losses == max_losses) {
    const uint32_t max = max_losses ? 2U * max_losses : FIRST_LOSSES;
    FxLoss* const more = realloc(losses, max * sizeof(FxLoss));
    if (!more) {
      ++n_unnamed;
      return;
    }
    losses = more;
    max_losses = max;
  }
  losses[n_losses++] = *loss;
}

bool
group_losses_take(FxLoss* const loss)
{
  if (n_losses) {
    *loss = losses[0];
    memmove(losses, losses + 1, --n_losses * sizeof(FxLoss));
    return true;
  }
  const uint32_t n = n_unnamed;
  n_unnamed = 0;
  if (n) {
    *loss = (FxLoss){ .uid = 0U };
    snprintf(loss->text, sizeof(loss->text),
             "%u more processes of groups were lost; there is no memory for the reasons", n);
  }
  return n > 0U;
}
