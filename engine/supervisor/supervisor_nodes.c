// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes that crash or hang a worker: named by its flight recorder, put into quarantine after the
// second loss.  A plugin that hangs outside of the blocks lets the worker play on until another one
// has taken over.

#include "supervisor_private.h"

#include <stdio.h>
#include <string.h>

#define CALL_LIMIT_NS (10U * NS_PER_S) // for one call of a plugin
// A longer time between two looks means that this thread was suspended.
#define LOOK_NS (NS_PER_S / 10U)

// ---- which node ----

/// The node with this uid; NULL: the worker has written nonsense. [lock held]
static const RackNode*
find_node(const Supervisor* const supervisor, const RackUid uid)
{
  const RackHistory* const history = &supervisor->history;
  const RackNode* node = rack_find_uid(history->active, uid);
  if (!node && history->pending) {
    node = rack_find_uid(history->pending->rack, uid);
  }
  return node;
}

/// True if the code of plugins may have run. [lock held]
static bool
has_plugins(const Supervisor* const supervisor)
{
  const RackHistory* const history = &supervisor->history;
  const Rack* const racks[] = { history->active, history->pending ? history->pending->rack : NULL };
  for (size_t r = 0; r < ARRAY_LEN(racks); ++r) {
    for (uint32_t n = 0; racks[r] && n < racks[r]->n_nodes; ++n) {
      if (racks[r]->nodes[n].fx->origin) {
        return true;
      }
    }
  }
  return false;
}

/// The call that all threads which play blocks are in, if it is of one node.
static RecorderCall
only_run(const Child* const child)
{
  RecorderCall only = { .phase = RECORDER_NONE };
  for (uint32_t t = 0; t < RECORDER_THREADS; ++t) {
    const RecorderCall call = recorder_read(child->recorder, t);
    const bool is_run = call.phase == RECORDER_RUN && call.is_of_player;
    if (is_run && only.phase != RECORDER_NONE && only.node != call.node) {
      return (RecorderCall){ .phase = RECORDER_NONE };
    }
    only = is_run ? call : only;
  }
  return only;
}

/// The call that ended the process.  Without a handler, for example after _exit(), it may have been
/// a thread that a plugin has started, and nobody is named.
static RecorderCall
crashed_call(const Child* const child)
{
  RecorderCall call;
  return recorder_has_crashed(child->recorder, &call) ? call
                                                      : (RecorderCall){ .phase = RECORDER_NONE };
}

Suspect
supervisor_find_suspect(const Supervisor* const supervisor, const Child* const child,
                        const Cause* const cause)
{
  RecorderCall call = { .phase = RECORDER_NONE };
  switch (cause->kind) {
  case CAUSE_CRASH:
    call = crashed_call(child);
    break;
  case CAUSE_NO_BLOCKS:
    call = only_run(child);
    break;
  case CAUSE_STUCK:
    call = cause->call;
    break;
  case CAUSE_OTHER:
    break;
  }
  const bool is_call = call.phase != RECORDER_NONE;
  const RackNode* const node = is_call ? find_node(supervisor, call.node) : NULL;
  const bool is_crash = cause->kind == CAUSE_CRASH && !cause->from_outside;
  return (Suspect){ .node = call.is_shared ? NULL : node,
                    .one_of = call.is_shared ? node : NULL,
                    .is_unknown = is_crash && !is_call && has_plugins(supervisor),
                    .phase = call.phase };
}

const char*
supervisor_effect_words(const FxInfo* const fx, char words[SUPERVISOR_EFFECT_BYTES])
{
  snprintf(words, SUPERVISOR_EFFECT_BYTES, "%s%s%s", fx->origin ? fx->origin->format : "",
           fx->origin ? " " : "", fx->origin ? fx->origin->id : fx->name);
  return words;
}

void
supervisor_name_suspect(const Suspect* const suspect, char* const text, const size_t n_bytes)
{
  const size_t n = strlen(text);
  const RackNode* const node = suspect->node ? suspect->node : suspect->one_of;
  if (node) {
    char fx[SUPERVISOR_EFFECT_BYTES];
    snprintf(text + n, n_bytes - n, " in %s of %s (%s)%s", recorder_phase_names[suspect->phase],
             node->name, supervisor_effect_words(node->fx, fx),
             suspect->node      ? ""
             : node->fx->origin ? " or of another node that has or had the same library"
                                : " or of another node that ran with it");
  } else if (suspect->is_unknown) {
    snprintf(text + n, n_bytes - n,
             " outside of the calls of nodes, perhaps in a thread of a plugin");
  }
}

bool
supervisor_is_of_edit(const Supervisor* const supervisor, const Suspect* const suspect)
{
  const RackHistory* const history = &supervisor->history;
  const RackUid uid = (suspect->node ? suspect->node : suspect->one_of)->uid;
  const RackNode* const before = rack_find_uid(history->active, uid);
  const RackNode* const after =
      history->pending ? rack_find_uid(history->pending->rack, uid) : NULL;
  return after && !(before && rack_same_structure(before, after));
}

// ---- quarantine ----

static bool
find_latency(const EnginePlacement* const placements, const uint32_t n, NodeCase* const node_case)
{
  bool has_found = false;
  for (uint32_t p = 0; p < n && !has_found; ++p) {
    has_found = placements[p].uid == node_case->uid;
    node_case->latency_frames =
        has_found ? placements[p].latency_frames : node_case->latency_frames;
  }
  return has_found;
}

void
supervisor_keep_latency(const Supervisor* const supervisor, const Child* const child,
                        NodeCase* const node_case)
{
  const Child* const worker = supervisor->worker;
  if (!(worker && find_latency(worker->placements, worker->n_placements, node_case)) &&
      !find_latency(child->placements, child->n_placements, node_case)) {
    (void)find_latency(supervisor->placements, supervisor->n_placements, node_case);
  }
}

bool
supervisor_judge_node(Supervisor* const supervisor, const Child* const child,
                      const Suspect* const suspect, const Cause* const cause, const bool has_stood)
{
  const uint64_t now_ns = time_now_ns();
  const RackNode* const node = suspect->node;
  NodeCase* const node_case = node_quarantine_case(&supervisor->history.nodes, node, now_ns);
  supervisor_keep_latency(supervisor, child, node_case);
  node_case->is_refused = false;
  node_case->is_guess = cause->is_guess || (node_case->is_guess && !has_stood);
  if (!crash_policy_node_loss(&node_case->n_crashes, has_stood)) {
    return false;
  }
  node_case->until_ns = now_ns + NODE_QUARANTINE_NS;
  ++supervisor->n_nodes_quarantined;
  char fx[SUPERVISOR_EFFECT_BYTES];
  snprintf(supervisor->quarantine, sizeof(supervisor->quarantine),
           "%s: %s %s twice in %s%s; its input plays instead", node->name,
           supervisor_effect_words(node->fx, fx), cause->kind == CAUSE_CRASH ? "crashed" : "hung",
           recorder_phase_names[suspect->phase],
           node_case->is_guess ? ", or another node of its group did" : "");
  return true;
}

bool
supervisor_part_nodes(Supervisor* const supervisor, const Suspect* const suspect)
{
  return suspect->one_of && suspect->phase == RECORDER_RUN &&
         node_quarantine_part(&supervisor->history.nodes, suspect->one_of->fx, time_now_ns());
}

/// A node that has not caused a loss for this time is no longer suspected.
static bool
has_stood(const Supervisor* const supervisor, const RackNode* const node, const uint64_t now_ns)
{
  const NodeCase* const cases = supervisor->history.nodes.cases;
  bool is_recent = false;
  for (uint32_t c = 0; c < NODE_QUARANTINE_MAX; ++c) {
    is_recent = is_recent ||
                (cases[c].uid == node->uid && now_ns - cases[c].changed_ns < CRASH_POLICY_TRIAL_NS);
  }
  return !is_recent;
}

void
supervisor_handle_lost(Supervisor* const supervisor, Child* const child,
                       const EngineNodeLoss* const loss)
{
  supervisor_lock(supervisor);
  const RackNode* const node = rack_find_uid(supervisor->history.active, loss->uid);
  const Suspect suspect = { .node = node, .phase = loss->phase };
  const Cause cause = { .kind = loss->is_hang ? CAUSE_STUCK : CAUSE_CRASH,
                        .is_guess = loss->is_guess };
  if (node && node->fx->origin && !child->is_stuck &&
      supervisor_judge_node(supervisor, child, &suspect, &cause,
                            has_stood(supervisor, node, time_now_ns()))) {
    child->must_reload = true;
  }
  supervisor_unlock(supervisor);
}

// ---- calls that do not return ----

/// Refuse the edit that caused the call, or count it against the node, and let another worker take
/// over.
static void
exchange_stuck(Supervisor* const supervisor, Child* const child, Cause* const cause)
{
  supervisor_lock(supervisor);
  const Suspect suspect = supervisor_find_suspect(supervisor, child, cause);
  supervisor_name_suspect(&suspect, cause->text, sizeof(cause->text));
  if (child->has_edit && supervisor_is_of_edit(supervisor, &suspect)) {
    supervisor_refuse_edit(supervisor, cause);
  } else {
    supervisor_judge_node(supervisor, child, &suspect, cause,
                          crash_policy_has_stood(&supervisor->policy, time_now_ns()));
  }
  child->is_stuck = true;
  child->has_edit = child->has_load = false;
  supervisor->exchange = (Backoff){ 0 };
  snprintf(supervisor->note, sizeof(supervisor->note),
           "worker %lld: %.200s; it plays on until the next one takes over",
           (long long)process_id(child->process), cause->text);
  supervisor_unlock(supervisor);
}

bool
supervisor_watch_calls(Supervisor* const supervisor, Child* const child, Cause* const cause)
{
  const uint64_t now_ns = time_now_ns();
  const uint64_t passed_ns = now_ns - child->watched_ns;
  const RecorderWatch* const endless = recorder_watch(
      child->recorder, child->calls, passed_ns < LOOK_NS ? passed_ns : LOOK_NS, CALL_LIMIT_NS);
  child->watched_ns = now_ns;
  if (!endless || child->is_stuck) {
    return true;
  }
  supervisor_lock(supervisor);
  const bool is_node = find_node(supervisor, endless->call.node) != NULL;
  const bool plays = child == supervisor->worker && child->state == CHILD_SERVING;
  supervisor_unlock(supervisor);
  if (!is_node) {
    return true;
  }
  if (process_is_stopped(child->process)) {
    return supervisor_fail(cause, "stopped from outside", true);
  }
  cause->kind = CAUSE_STUCK;
  cause->call = endless->call;
  supervisor_fail(cause, "did not return in 10 s", false);
  if (!plays) {
    return false;
  }
  exchange_stuck(supervisor, child, cause);
  return true;
}
