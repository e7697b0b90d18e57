// SPDX-License-Identifier: GPL-3.0-or-later
// Messages to the server, field by field.  Each function is the layout of one struct, for both
// directions.

#include "wire_private.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/// Code a linear level, 0 to 1.
static void
code_level(Coder* const coder, float* const level)
{
  if (coder_bytes(coder, level, sizeof(*level)) && !(*level >= 0.0F && *level <= 1.0F)) {
    coder_fail(coder, STATUS_BAD_ARG, "a level of %g", (double)*level);
  }
}

static void
code_fallback(Coder* const coder, Fallback* const fallback)
{
  uint32_t why = fallback->why;
  code_level(coder, &fallback->level);
  code_level(coder, &fallback->response);
  coder_bool(coder, &fallback->follows, "fallback");
  coder_u32(coder, &why, 0U, FALLBACK_N_WHYS - 1U, "reason of a fallback");
  fallback->why = (FallbackWhy)why;
}

void
wire_code_facts(Coder* const coder, WorkerFacts* const facts)
{
  coder_u64(coder, &facts->serial);
  coder_u32(coder, &facts->rack_latency_frames, 0U, WIRE_MAX_LATENCY, "latency");
  coder_u32(coder, &facts->n_out, 0U, FX_MAX_CHANNELS, "n_out");
  coder_u32(coder, &facts->n_nodes, 0U, WIRE_MAX_NODES, "n_nodes");
  coder_u32(coder, &facts->n_units, 0U, WIRE_MAX_NODES * FX_MAX_CHANNELS, "n_units");
  coder_u32(coder, &facts->n_ranks, 0U, WIRE_MAX_NODES, "n_ranks");
  coder_u64(coder, &facts->tail_frames);
  coder_u64(coder, &facts->memory_bytes);
  coder_u64(coder, &facts->making_bytes);
  coder_u32(coder, &facts->fallbacks.n, 0U, FX_MAX_CHANNELS, "number of fallbacks");
  for (uint32_t c = 0; !coder->error.status && c < facts->fallbacks.n; ++c) {
    code_fallback(coder, &facts->fallbacks.of[c]);
  }
}

/// Code a backend; ENGINE_BACKEND_AUTO is an error.
static void
code_backend(Coder* const coder, EngineBackend* const backend)
{
  uint32_t value = *backend;
  coder_u32(coder, &value, ENGINE_BACKEND_CPU, ENGINE_N_BACKENDS - 1U, "backend");
  *backend = (EngineBackend)value;
}

void
wire_code_status(Coder* const coder, WorkerStatus* const status)
{
  wire_code_facts(coder, &status->facts);
  for (uint32_t i = 0; i < N_WORKER_COUNTS; ++i) {
    coder_u64(coder, &status->counts.of[i]);
  }
  coder_double(coder, &status->load_p50, 0.0, DBL_MAX, "load");
  coder_double(coder, &status->load_p99, 0.0, DBL_MAX, "load");
  coder_double(coder, &status->load_max, 0.0, DBL_MAX, "load");
  for (uint32_t s = 0; s < PLACEMENT_SIDES; ++s) {
    coder_double(coder, &status->cost_us[s], 0.0, (double)INFINITY, "cost");
  }
  coder_u32(coder, &status->n_gpu_nodes, 0U, WIRE_MAX_NODES, "n_gpu_nodes");
  coder_u32(coder, &status->n_bypassed, 0U, WIRE_MAX_NODES, "n_bypassed");
  coder_bool(coder, &status->needs_new_process, "needs_new_process");
  coder_bool(coder, &status->uses_cpu, "uses_cpu");
  coder_bool(coder, &status->awaits_frame, "awaits_frame");
  code_backend(coder, &status->gpu);
  coder_text(coder, status->device, sizeof(status->device), "device");
  coder_text(coder, status->backend_note, sizeof(status->backend_note), "backend note");
  coder_text(coder, status->realtime_note, sizeof(status->realtime_note), "real-time note");
}

/// Code a Status, and its reason in text[n_bytes].
static void
code_outcome(Coder* const coder, Status* const status, char* const text, const size_t n_bytes)
{
  if (coder->writes && (!*status || !text[0])) {
    snprintf(text, n_bytes, "%s", *status ? status_text(*status) : "");
  }
  uint32_t code = *status;
  coder_u32(coder, &code, 0U, STATUS_N_STATUSES - 1U, "status");
  *status = (Status)code;
  coder_text(coder, text, n_bytes, "reason");
  if (!*status != !*text) {
    coder_fail(coder, STATUS_BAD_ARG, "status and reason contradict");
  }
}

void
wire_code_failed(Coder* const coder, Error* const error)
{
  code_outcome(coder, &error->status, error->text, sizeof(error->text));
  if (!error->status) {
    coder_fail(coder, STATUS_BAD_ARG, "nothing has failed");
  }
}

static void
code_refused(Coder* const coder, RackRefused* const refused)
{
  coder_u32(coder, &refused->n, 0U, RACK_MAX_REFUSED, "refused nodes");
  for (uint32_t r = 0; !coder->error.status && r < refused->n; ++r) {
    coder_u32(coder, &refused->uids[r], RACK_UID_FIRST, UINT32_MAX, "uid");
  }
}

void
wire_code_armed(Coder* const coder, WireArmed* const armed)
{
  code_outcome(coder, &armed->error.status, armed->error.text, sizeof(armed->error.text));
  code_refused(coder, &armed->refused);
  wire_code_facts(coder, &armed->facts);
}

void
wire_code_reply(Coder* const coder, WireReply* const answer)
{
  EngineReply* const reply = &answer->reply;
  coder_u64(coder, &answer->id);
  code_outcome(coder, &reply->status, reply->text, sizeof(reply->text));
  coder_u64(coder, &reply->frame);
  coder_u32(coder, &reply->latency_frames, 0U, WIRE_MAX_LATENCY, "latency");
  coder_u32(coder, &reply->refused_edge, 0U, RACK_MAX_EDGES, "refused connection");
  code_refused(coder, &reply->refused);
  wire_code_facts(coder, &answer->facts);
}

void
wire_code_saved(Coder* const coder, WireSaved* const message)
{
  EngineSaved* const saved = &message->saved;
  coder_u64(coder, &message->id);
  code_outcome(coder, &saved->error.status, saved->error.text, sizeof(saved->error.text));
  const bool is_saved = !saved->error.status;
  coder_u32(coder, &saved->n_bytes, is_saved, is_saved ? FX_STATE_MAX_BYTES : 0U,
            "size of a state");
  unsigned char* const read = coder->writes ? NULL : coder_array(coder, saved->n_bytes, 1U, 1U);
  coder_bytes(coder, coder->writes ? (void*)saved->bytes : read, saved->n_bytes);
  saved->bytes = coder->writes ? saved->bytes : read;
}

static void
code_placement(Coder* const coder, EnginePlacement* const placement)
{
  uint32_t reason = placement->reason;
  coder_u32(coder, &placement->uid, RACK_UID_FIRST, UINT32_MAX, "uid");
  code_backend(coder, &placement->backend);
  coder_u32(coder, &reason, 0U, PLACE_N_REASONS - 1U, "reason of a placement");
  placement->reason = (PlaceReason)reason;
  coder_u32(coder, &placement->latency_frames, 0U, WIRE_MAX_LATENCY, "latency of a node");
  coder_u32(coder, &placement->p50_ns, 0U, UINT32_MAX, "time of a node");
  coder_u32(coder, &placement->p99_ns, 0U, UINT32_MAX, "time of a node");
}

void
wire_code_placements(Coder* const coder, WirePlacements* const placements)
{
  coder_u32(coder, &placements->n, 0U, RACK_MAX_NODES, "number of nodes");
  EnginePlacement* const read =
      coder->writes ? NULL : coder_array(coder, placements->n, sizeof(*read), PLACEMENT_BYTES);
  for (uint32_t p = 0; !coder->error.status && p < placements->n; ++p) {
    EnginePlacement placement = coder->writes ? placements->placements[p] : (EnginePlacement){ 0 };
    code_placement(coder, &placement);
    if (read) {
      read[p] = placement;
    }
  }
  placements->placements = coder->writes ? placements->placements : read;
}

void
wire_code_lost(Coder* const coder, EngineNodeLoss* const loss)
{
  uint32_t phase = loss->phase;
  coder_u32(coder, &loss->uid, RACK_UID_FIRST, UINT32_MAX, "uid");
  coder_u32(coder, &phase, RECORDER_NONE + 1U, RECORDER_N_PHASES - 1U, "phase");
  loss->phase = (RecorderPhase)phase;
  coder_bool(coder, &loss->is_hang, "kind of a loss");
  coder_bool(coder, &loss->is_guess, "certainty of a loss");
}
