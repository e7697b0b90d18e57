// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes whose plugins run in processes of their own (`group=`): losses of these processes are
// reported, and the nodes made again.

#include "worker_private.h"

#include "engine/base/time.h"

// Rest after a failure to make the nodes of a lost process again.
#define RESTORED_FIRST_NS   (NS_PER_S / 5U)
#define RESTORED_LONGEST_NS (60U * NS_PER_S)

/// True if a refused edit would have made the node: the one of the active rack plays on.
static bool
is_of_edit(const Worker* const worker, const Rack* const refused, const FxLoss* const loss)
{
  const RackNode* const node = refused ? rack_find_uid(refused, loss->uid) : NULL;
  const RackNode* const active = rack_find_uid(worker->rack, loss->uid);
  return node && loss->phase != RECORDER_RUN && !(active && rack_same_structure(active, node));
}

void
worker_report_groups(Worker* const worker, const Rack* const refused)
{
  FxLoss loss;
  counter_add(&worker->player.counts.group_dry, fx_take_missed());
  while (fx_take_loss(&loss)) {
    const bool is_active = loss.uid && !is_of_edit(worker, refused, &loss);
    const RackNode* const node = is_active ? rack_find_uid(worker->rack, loss.uid) : NULL;
    const char* const phase = recorder_phase_names[loss.phase];
    const char* const verb = loss.is_guess ? "; perhaps it was in " : "; it was in ";
    worker_log(worker, "%s%s%s%s%s", loss.text, node ? verb : "", node ? phase : "",
               node ? " of " : "", node ? node->name : "");
    if (node && worker->events.node_lost) {
      const EngineNodeLoss lost = { loss.uid, (RecorderPhase)loss.phase, loss.is_hang,
                                    loss.is_guess };
      worker->events.node_lost(worker->events.context, &lost);
    }
  }
}

/// Mark the nodes whose processes are lost, or one of them, to be replaced.  Returns their number.
static uint32_t
leave_lost(const Plan* const plan, const bool only_one, const uint32_t turn)
{
  uint32_t n_lost = 0;
  uint32_t n_left = 0;
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    n_lost += node_is_lost(plan->nodes[n].node);
  }
  for (uint32_t n = 0, l = 0; n < plan->n_living; ++n) {
    Node* const node = plan->nodes[n].node;
    if (node_is_lost(node)) {
      node->is_left = !only_one || l == turn % n_lost;
      n_left += node->is_left;
      ++l;
    }
  }
  return n_left;
}

void
worker_restore_groups(Worker* const worker)
{
  const uint64_t now_ns = time_now_ns();
  const Plan* const plan = worker->player.plan;
  if (now_ns < worker->restoring.at_ns ||
      !leave_lost(plan, worker->n_unrestored > 0U, worker->n_unrestored)) {
    return;
  }
  Error error = { STATUS_OK, "" };
  if (!worker_replan_in_turn(worker, &error)) {
    worker->n_unrestored = 0;
    return;
  }
  ++worker->n_unrestored;
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    plan->nodes[n].node->is_left = false;
  }
  backoff_fail(&worker->restoring, RESTORED_FIRST_NS, RESTORED_LONGEST_NS, now_ns);
  worker_log(worker, "a plugin of a group cannot start again: %s", error.text);
}
