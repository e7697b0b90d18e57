// SPDX-License-Identifier: GPL-3.0-or-later
// Messages to the worker, field by field.  Each function is the layout of one struct, for both
// directions.

#include "wire_private.h"

#include "engine/base/hash.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIRE_VERSION 11U

#define APART   (2U + WIRE_MAX_LATENCY) // RackNode::is_apart
#define MISSING (3U + WIRE_MAX_LATENCY) // FxInfo::is_missing

/// What keeps a node from playing as the rack says, as a number: 0; 1 and the frames of a
/// quarantine; APART or MISSING.
static uint32_t
state_number(const RackNode* const node)
{
  return node->fx->is_missing   ? MISSING
         : node->is_quarantined ? 1U + node->dry_frames
         : node->is_apart       ? APART
                                : 0U;
}

static void
set_quarantines(Coder* const coder, const Rack* const rack, const uint32_t* const numbers)
{
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    const bool is_missing = rack->nodes[n].fx->is_missing;
    if (numbers[n] > MISSING || (numbers[n] == MISSING && !is_missing)) {
      coder_fail(coder, STATUS_BAD_ARG, "a quarantine of %u", numbers[n]);
    }
    const bool is_quarantined = numbers[n] != 0U && numbers[n] < APART;
    rack->nodes[n].is_quarantined = is_quarantined;
    rack->nodes[n].dry_frames = is_quarantined ? numbers[n] - 1U : 0U;
    rack->nodes[n].is_apart = numbers[n] == APART;
  }
}

/// Write uids and states in the order of the nodes, then the document.
static void
write_rack(Coder* const coder, const Rack* const rack)
{
  char* const text = rack_print_sound(rack);
  if (!text) {
    coder_fail(coder, STATUS_NO_MEM, "out of memory");
    return;
  }
  uint32_t n_text = (uint32_t)strlen(text);
  if (n_text > RACK_MAX_TEXT) {
    coder_fail(coder, STATUS_LIMIT, "a document of %u bytes; at most %u", n_text, RACK_MAX_TEXT);
  }
  uint32_t n_nodes = rack->n_nodes;
  uint32_t next_uid = rack->next_uid;
  coder_u32(coder, &next_uid, RACK_UID_FIRST, UINT32_MAX, "next uid");
  coder_u32(coder, &n_nodes, 0U, RACK_MAX_NODES, "number of nodes");
  for (uint32_t n = 0; n < n_nodes; ++n) {
    RackUid uid = rack->nodes[n].uid;
    coder_u32(coder, &uid, RACK_UID_FIRST, next_uid - 1U, "uid");
  }
  for (uint32_t n = 0; n < n_nodes; ++n) {
    uint32_t number = state_number(&rack->nodes[n]);
    coder_u32(coder, &number, 0U, MISSING, "quarantine");
  }
  coder_u32(coder, &n_text, 0U, RACK_MAX_TEXT, "length of the document");
  coder_bytes(coder, text, n_text);
  free(text);
}

static RackCopied
copied_by(const uint32_t state)
{
  return state == MISSING               ? RACK_COPIED_MISSING
         : state != 0U && state < APART ? RACK_COPIED_BYPASSED
                                        : RACK_COPIED_THERE;
}

/// Read the document.  If it is no rack in this process, `refusal` says why, *rack is NULL, and
/// `refused` has the nodes whose plugin is the reason.
static void
parse_rack(Coder* const coder, const char* const text, const uint32_t* const states,
           const RackUid* const uids, const uint32_t n_nodes, Rack** const rack,
           Error* const refusal, RackRefused* const refused)
{
  RackCopied* const plugins = malloc((n_nodes + 1U) * sizeof(RackCopied));
  for (uint32_t n = 0; plugins && n < n_nodes; ++n) {
    plugins[n] = copied_by(states[n]);
  }
  // The server may hold plugins of an earlier catalogue.
  const Status status = plugins ? rack_parse_copy(text, "document", plugins, n_nodes, rack, refusal)
                                : error_set(refusal, STATUS_NO_MEM, "out of memory");
  if (status == STATUS_NO_MEM) {
    coder_fail(coder, STATUS_NO_MEM, "%s", refusal->text);
  }
  for (uint32_t n = 0; plugins && status && n < n_nodes; ++n) {
    if (plugins[n] == RACK_COPIED_LACKING && refused->n < RACK_MAX_REFUSED) {
      refused->uids[refused->n++] = uids[n];
    }
  }
  free(plugins);
}

/// Give a rack its uids, and the quarantines of its nodes.
static void
number_rack(Coder* const coder, Rack* const rack, const RackUid* const uids, const uint32_t n_nodes,
            const RackUid next_uid, const uint32_t* const states)
{
  Error error = { STATUS_OK, "" };
  const Status status = rack_set_uids(rack, uids, n_nodes, next_uid, &error);
  if (status) {
    coder_fail(coder, status, "%s", error.text);
  } else {
    set_quarantines(coder, rack, states);
  }
}

static Rack*
read_rack(Coder* const coder, Error* const refusal, RackRefused* const refused)
{
  uint32_t next_uid = 0;
  uint32_t n_nodes = 0;
  uint32_t n_text = 0;
  coder_u32(coder, &next_uid, RACK_UID_FIRST, UINT32_MAX, "next uid");
  coder_u32(coder, &n_nodes, 0U, RACK_MAX_NODES, "number of nodes");
  RackUid* const uids = coder_array(coder, n_nodes, sizeof(RackUid), sizeof(RackUid));
  coder_bytes(coder, uids, n_nodes * sizeof(RackUid));
  uint32_t* const states = coder_array(coder, n_nodes, sizeof(uint32_t), sizeof(uint32_t));
  coder_bytes(coder, states, n_nodes * sizeof(uint32_t));
  coder_u32(coder, &n_text, 0U, RACK_MAX_TEXT, "length of the document");
  char* const text = coder_array(coder, n_text, 1U, 1U);
  Rack* rack = NULL;
  if (coder_bytes(coder, text, n_text)) {
    if (strlen(text) != n_text) {
      coder_fail(coder, STATUS_BAD_ARG, "the document holds a zero");
    } else {
      parse_rack(coder, text, states, uids, n_nodes, &rack, refusal, refused);
    }
  }
  if (rack) {
    number_rack(coder, rack, uids, n_nodes, next_uid, states);
  }
  free(text);
  free(states);
  free(uids);
  return rack;
}

static void
code_rack(Coder* const coder, const Rack** const rack, Error* const refusal,
          RackRefused* const refused)
{
  if (coder->writes) {
    write_rack(coder, *rack);
  } else {
    *rack = read_rack(coder, refusal, refused);
  }
}

/// Hash of the version and of the effect table.  Both processes need the same table, because
/// documents name effects, and messages number their parameters.
static uint32_t
identity(void)
{
  uint32_t hash = hash_text(HASH32_START + WIRE_VERSION, WARPRACK_VERSION);
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  for (uint32_t e = 0; e < n; ++e) {
    hash = hash_text(hash, table[e]->name);
    for (uint32_t p = 0; p < table[e]->n_params; ++p) {
      hash = hash_text(hash, table[e]->params[p].id);
    }
  }
  return hash;
}

void
wire_code_config(Coder* const coder, WireConfig* const config)
{
  EngineConfig* const engine = &config->engine;
  const uint32_t own = identity();
  uint32_t build = own;
  coder_bytes(coder, &build, sizeof(build));
  if (build != own) {
    coder_fail(coder, STATUS_BAD_ARG, "server and worker are not the same program");
  }
  coder_u32(coder, &engine->n_in, 0U, FX_MAX_CHANNELS, "n_in");
  coder_u32(coder, &engine->n_out, 0U, FX_MAX_CHANNELS, "n_out");
  coder_u32(coder, &engine->depth, 0U, 2U, "depth");
  coder_bool(coder, &engine->on_late.is_fixed, "on_late");
  coder_double(coder, &engine->on_late.level_db, -(double)INFINITY, 0.0, "on_late");
  coder_bool(coder, &engine->realtime, "realtime");
  uint32_t priority = (uint32_t)engine->priority;
  coder_u32(coder, &priority, 0U, 99U, "priority");
  engine->priority = (int)priority;
  coder_u32(coder, &engine->n_helpers, 0U, UINT32_MAX, "n_helpers");
  uint32_t backend = engine->backend;
  coder_u32(coder, &backend, 0U, ENGINE_N_BACKENDS - 1U, "backend");
  engine->backend = (EngineBackend)backend;
  coder_u32(coder, &engine->gpu_index, 0U, UINT32_MAX, "gpu_index");
  uint64_t memory_bytes = engine->memory_bytes;
  coder_u64(coder, &memory_bytes);
  engine->memory_bytes = memory_bytes;
  coder_u64(coder, &engine->gpu_deadline_ns);
  coder_u32(coder, &engine->plugin_start_s, 0U, ENGINE_PLUGIN_START_LONGEST_S, "plugin_start_s");
  coder_bool(coder, &engine->gpu_may_sleep, "gpu_may_sleep");
  coder_bool(coder, &engine->no_fusion, "no_fusion");
  coder_bool(coder, &engine->gpu_may_be_lost, "gpu_may_be_lost");
  coder_path(coder, config->root, sizeof(config->root), "root");
  bool has_rack = config->rack;
  coder_bool(coder, &has_rack, "rack");
  if (has_rack) {
    Error refusal; // the EDIT of the same rack is answered with it
    RackRefused refused = { 0 };
    code_rack(coder, &config->rack, &refusal, &refused);
  }
}

void
wire_code_arm(Coder* const coder, WireArm* const arm)
{
  coder_double(coder, &arm->format.rate_hz, FORMAT_MIN_RATE_HZ, FORMAT_MAX_RATE_HZ, "rate");
  coder_u32(coder, &arm->format.block_frames, 1U, FX_MAX_BLOCK, "block");
  coder_u32(coder, &arm->format.n_in, 0U, FX_MAX_CHANNELS, "n_in");
  coder_u32(coder, &arm->format.n_out, 0U, FX_MAX_CHANNELS, "n_out");
  coder_bool(coder, &arm->format.offline, "offline");
  if (arm->format.offline) {
    coder_fail(coder, STATUS_BAD_ARG, "there is no ring offline");
  }
  coder_u64(coder, &arm->first_frame);
  coder_u64(coder, &arm->n_sent);
}

void
wire_code_edit(Coder* const coder, WireEdit* const edit)
{
  coder_u64(coder, &edit->id);
  coder_u64(coder, &edit->at_frame);
  coder_u64(coder, &edit->stamp);
  code_rack(coder, &edit->rack, &edit->refusal, &edit->refused);
}

static void
code_parameter(Coder* const coder, ParamMessage* const message)
{
  coder_u64(coder, &message->frame);
  coder_u32(coder, &message->uid, 0U, UINT32_MAX, "uid");
  coder_u32(coder, &message->param, 0U, UINT32_MAX, "parameter");
  coder_double(coder, &message->value, -DBL_MAX, DBL_MAX, "value");
  coder_u32(coder, &message->param_id, 0U, UINT32_MAX, "id of a parameter");
}

void
wire_code_set(Coder* const coder, WireSet* const set)
{
  coder_u32(coder, &set->n, 1U, WIRE_MAX_MESSAGES, "number of messages");
  ParamMessage* const read = coder->writes ? NULL : coder_array(coder, set->n, sizeof(*read), 28U);
  for (uint32_t m = 0; !coder->error.status && m < set->n; ++m) {
    ParamMessage message = coder->writes ? set->messages[m] : (ParamMessage){ 0 };
    code_parameter(coder, &message);
    if (read) {
      read[m] = message;
    }
  }
  set->messages = coder->writes ? set->messages : read;
}

void
wire_code_save(Coder* const coder, WireSave* const save)
{
  coder_u64(coder, &save->id);
  coder_u32(coder, &save->uid, RACK_UID_FIRST, UINT32_MAX, "uid");
}
