// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes of plugins that a worker cannot make, although an earlier one could: the plugin's file or a
// file of its values is gone, or the plugin fails.  They go into quarantine, so that the rest of
// the rack plays, and are tried again after each scan for plugins.

#include "supervisor_private.h"

#include "engine/base/time.h"

#include <stdio.h>
#include <string.h>

/// Attempts in a row that may each find further nodes.  After more of them the worker is faulty.
#define MAX_ATTEMPTS (NODE_QUARANTINE_MAX / RACK_MAX_REFUSED)

/// A reason without the name of the node, or the place in the document, before it.
static const char*
without_place(const char* const why, const RackNode* const node)
{
  static const char document[] = "document:";
  const size_t n = strlen(node->name);
  const bool has_name = !strncmp(why, node->name, n) && !strncmp(why + n, ": ", 2);
  const bool has_place = !strncmp(why, document, sizeof(document) - 1U);
  const char* const end = has_name || has_place ? strstr(why, ": ") : NULL;
  return end ? end + 2 : why;
}

static void
note_refused(Supervisor* const supervisor, const RackNode* const node, const uint32_t n_more,
             const char* const why)
{
  char fx[SUPERVISOR_EFFECT_BYTES];
  char more[48] = "";
  if (n_more) {
    snprintf(more, sizeof(more), ", as those of %u other node%s", n_more, n_more == 1U ? "" : "s");
  }
  snprintf(supervisor->quarantine, sizeof(supervisor->quarantine),
           "%s: %.90s cannot be loaded (%.130s); its input plays instead%s", node->name,
           supervisor_effect_words(node->fx, fx), without_place(why, node), more);
}

/// Put a node into quarantine.  Returns false if it was in quarantine in the rack that the child
/// got.
static bool
bypass(Supervisor* const supervisor, const Child* const child, const RackNode* const node,
       const uint64_t now_ns, bool* const is_new)
{
  NodeCase* const node_case = node_quarantine_case(&supervisor->history.nodes, node, now_ns);
  const bool was_marked = now_ns < node_case->until_ns;
  *is_new = !was_marked && !node_case->is_refused;
  if (was_marked) {
    return node_case->until_ns - NODE_QUARANTINE_NS > child->given_ns;
  }
  supervisor_keep_latency(supervisor, child, node_case);
  node_case->is_refused = true;
  node_case->until_ns = now_ns + NODE_QUARANTINE_NS;
  return true;
}

/// The node, if it may be put into quarantine: a plugin's, of the active rack; if `only_again`, one
/// that was in quarantine before. [lock held]
static const RackNode*
find_refused(const Supervisor* const supervisor, const RackUid uid, const bool only_again)
{
  const RackNode* const node = rack_find_uid(supervisor->history.active, uid);
  if (!node || !node->fx->origin || node->fx->is_missing) {
    return NULL;
  }
  return !only_again || node_quarantine_has(&supervisor->history.nodes, node) ? node : NULL;
}

bool
supervisor_bypass_refused(Supervisor* const supervisor, Child* const child,
                          const RackRefused* const refused, const bool only_again,
                          const char* const why)
{
  const uint64_t now_ns = time_now_ns();
  const RackNode* first = NULL;
  uint32_t n = 0;
  bool has_changed = false;
  if (refused->n && child->n_refusals++ >= MAX_ATTEMPTS) {
    child->n_refusals = 0; // the next attempts are of another rack, or come later
    return false;
  }
  for (uint32_t r = 0; r < refused->n; ++r) {
    const RackNode* const node = find_refused(supervisor, refused->uids[r], only_again);
    bool is_new = false;
    has_changed = (node && bypass(supervisor, child, node, now_ns, &is_new)) || has_changed;
    first = first ? first : node;
    n += node != NULL;
    supervisor->n_nodes_quarantined += is_new;
  }
  if (first) { // a failed retry may have another reason
    note_refused(supervisor, first, n - 1U, why);
  }
  child->n_refusals = has_changed ? child->n_refusals : 0U;
  return has_changed;
}

void
supervisor_accept_nodes(Supervisor* const supervisor, Child* const child)
{
  if (child->has_plan) { // else it has stored the rack, without making a node
    child->n_refusals = 0;
    node_quarantine_forget(&supervisor->history.nodes, child->given_ns);
  }
}
