// SPDX-License-Identifier: GPL-3.0-or-later
// The nodes that crash workers or cannot be made, and their quarantine.

#include "node_quarantine.h"

#include <string.h>

/// True if nodes of both effects may run in one call: side by side, or in a chain (StageStep).
static bool
may_run_together(const FxInfo* const a, const FxInfo* const b)
{
  return a == b || (a && b && a->linear && b->linear);
}

/// True if nodes of this effect run apart because of a case.
static bool
is_parted(const EffectCase* const effect, const FxInfo* const fx, const uint64_t now_ns)
{
  return may_run_together(effect->fx, fx) && now_ns < effect->until_ns;
}

static bool
is_of(const NodeCase* const node_case, const RackNode* const node)
{
  return node_case->uid == node->uid && node_case->fx == node->fx;
}

NodeCase*
node_quarantine_case(NodeQuarantine* const quarantine, const RackNode* const node,
                     const uint64_t now_ns)
{
  NodeCase* oldest = &quarantine->cases[0];
  for (uint32_t c = 0; c < NODE_QUARANTINE_MAX; ++c) {
    NodeCase* const node_case = &quarantine->cases[c];
    if (is_of(node_case, node)) {
      node_case->changed_ns = now_ns;
      return node_case;
    }
    oldest = node_case->changed_ns < oldest->changed_ns ? node_case : oldest;
  }
  *oldest = (NodeCase){ .uid = node->uid, .fx = node->fx, .changed_ns = now_ns };
  for (uint32_t e = 0; e < NODE_QUARANTINE_EFFECTS; ++e) {
    EffectCase* const effect = &quarantine->effects[e];
    if (is_parted(effect, node->fx, now_ns)) {
      oldest->n_crashes = effect->n_crashes;
      effect->n_crashes = 0;
    }
  }
  return oldest;
}

bool
node_quarantine_part(NodeQuarantine* const quarantine, const FxInfo* const fx,
                     const uint64_t now_ns)
{
  EffectCase* oldest = &quarantine->effects[0];
  for (uint32_t e = 0; e < NODE_QUARANTINE_EFFECTS; ++e) {
    EffectCase* const effect = &quarantine->effects[e];
    if (may_run_together(effect->fx, fx)) {
      oldest = effect;
      break;
    }
    oldest = effect->until_ns < oldest->until_ns ? effect : oldest;
  }
  if (is_parted(oldest, fx, now_ns)) {
    return false;
  }
  *oldest = (EffectCase){ .fx = fx, .n_crashes = 1U, .until_ns = now_ns + NODE_QUARANTINE_NS };
  return true;
}

static bool
is_apart(const NodeQuarantine* const quarantine, const FxInfo* const fx, const uint64_t now_ns)
{
  for (uint32_t e = 0; e < NODE_QUARANTINE_EFFECTS; ++e) {
    if (is_parted(&quarantine->effects[e], fx, now_ns)) {
      return true;
    }
  }
  return false;
}

void
node_quarantine_follow(NodeQuarantine* const quarantine, const Rack* const before,
                       const Rack* const after)
{
  for (uint32_t c = 0; c < NODE_QUARANTINE_MAX; ++c) {
    NodeCase* const node_case = &quarantine->cases[c];
    const RackNode* const old = rack_find_uid(before, node_case->uid);
    const RackNode* const new = rack_find_uid(after, node_case->uid);
    if (!old || !new || !rack_same_structure(old, new)) {
      *node_case = (NodeCase){ .uid = RACK_UID_NONE };
    }
  }
}

bool
node_quarantine_has(const NodeQuarantine* const quarantine, const RackNode* const node)
{
  bool has = false;
  for (uint32_t c = 0; c < NODE_QUARANTINE_MAX; ++c) {
    const NodeCase* const node_case = &quarantine->cases[c];
    has = has || (node_case->until_ns && is_of(node_case, node));
  }
  return has;
}

bool
node_quarantine_lift(NodeQuarantine* const quarantine, const uint64_t now_ns)
{
  bool has_lifted = false;
  for (uint32_t c = 0; c < NODE_QUARANTINE_MAX; ++c) {
    NodeCase* const node_case = &quarantine->cases[c];
    if (node_case->is_refused) {
      has_lifted = true;
      node_case->until_ns = now_ns < node_case->until_ns ? now_ns : node_case->until_ns;
    }
  }
  return has_lifted;
}

bool
node_quarantine_put_back(NodeQuarantine* const quarantine, const uint64_t now_ns)
{
  bool has_any = false;
  for (uint32_t c = 0; c < NODE_QUARANTINE_MAX; ++c) {
    NodeCase* const node_case = &quarantine->cases[c];
    if (node_case->is_refused && node_case->until_ns <= now_ns) {
      has_any = true;
      node_case->until_ns = now_ns + NODE_QUARANTINE_NS;
    }
  }
  return has_any;
}

void
node_quarantine_new_code(NodeQuarantine* const quarantine, const uint64_t now_ns)
{
  for (uint32_t c = 0; c < NODE_QUARANTINE_MAX; ++c) {
    NodeCase* const node_case = &quarantine->cases[c];
    if (!node_case->is_refused) {
      *node_case = (NodeCase){ .uid = RACK_UID_NONE };
    }
  }
  memset(quarantine->effects, 0, sizeof(quarantine->effects));
  (void)node_quarantine_lift(quarantine, now_ns);
}

void
node_quarantine_forget(NodeQuarantine* const quarantine, const uint64_t given_ns)
{
  for (uint32_t c = 0; c < NODE_QUARANTINE_MAX; ++c) {
    NodeCase* const node_case = &quarantine->cases[c];
    if (node_case->is_refused && node_case->until_ns <= given_ns) {
      *node_case = (NodeCase){ .uid = RACK_UID_NONE };
    }
  }
}

/// The node of `rack` with this case, if it is in quarantine; else NULL.
static const RackNode*
find_node(const NodeCase* const node_case, const Rack* const active, const Rack* const rack,
          const uint64_t now_ns)
{
  if (now_ns >= node_case->until_ns) {
    return NULL;
  }
  const RackNode* const node = rack_find_uid(rack, node_case->uid);
  const RackNode* const now = rack_find_uid(active, node_case->uid);
  return node && now && is_of(node_case, node) && rack_same_structure(now, node) ? node : NULL;
}

void
node_quarantine_apply(const NodeQuarantine* const quarantine, const Rack* const active,
                      Rack* const rack, const uint64_t now_ns)
{
  for (uint32_t c = 0; c < NODE_QUARANTINE_MAX; ++c) {
    const NodeCase* const node_case = &quarantine->cases[c];
    const RackNode* const node = find_node(node_case, active, rack, now_ns);
    if (node) {
      RackNode* const marked = &rack->nodes[node - rack->nodes];
      marked->is_quarantined = true;
      marked->dry_frames = node_case->latency_frames;
    }
  }
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    RackNode* const node = &rack->nodes[n];
    node->is_apart = !node->is_quarantined && is_apart(quarantine, node->fx, now_ns);
  }
}
