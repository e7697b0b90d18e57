// SPDX-License-Identifier: GPL-3.0-or-later

#include "rack_rig.h"

#include "set_by_name.h"
#include "signals.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static Status
find_file(void* const context, const char* const name, const double rate_hz, FxFile** const file,
          Error* const error)
{
  (void)rate_hz;
  const RackRig* const rig = context;
  for (uint32_t f = 0; f < rig->n_files; ++f) {
    if (!strcmp(rig->files[f].name, name)) {
      *file = (FxFile*)rig->files[f].file;
      return STATUS_OK;
    }
  }
  return error_set(error, STATUS_FILE, "%s: the test has no such file", name);
}

static PlanRequest
request_for(RackRig* const rig, const Rack* const rack)
{
  const Plan* const active = rig->player.plan;
  const bool is_edit = active && rack != rig->rack;
  uint64_t now = rig->frame > rig->plan_frames ? rig->frame - rig->plan_frames : 0U;
  now = active && active->first_frame > now ? active->first_frame : now;
  now = is_edit && plan_next_begin(active) > now ? plan_next_begin(active) : now;
  return (PlanRequest){ .rack = rack,
                        .previous = active,
                        .now_frame = now,
                        .format = &rig->format,
                        .loader = &rig->loader,
                        .backend = rig->backend,
                        .gpu = rig->gpu,
                        .no_fusion = rig->no_fusion,
                        .pool = rig->pool };
}

static Status
plan(RackRig* const rig, const PlanRequest* const request, Error* const error)
{
  Plan* made = NULL;
  PlanFault fault;
  const Status status = plan_new(request, &made, &fault, error);
  if (!status) {
    player_offer(&rig->player, made);
    player_idle(&rig->player);
    ck_assert(player_has_taken(&rig->player));
    plan_became_active(made, rig->frame);
    plan_free(player_collect(&rig->player));
  }
  return status;
}

Status
rack_rig_try(RackRig* const rig, const char* const text, Error* const error)
{
  Rack* const rack = rack_of(text, rig->rack);
  const PlanRequest request = request_for(rig, rack);
  const Status status = plan(rig, &request, error);
  if (status) {
    rack_free(rack);
    return status;
  }
  rack_free(rig->rack);
  rig->rack = rack;
  return STATUS_OK;
}

void
rack_rig_edit(RackRig* const rig, const char* const text)
{
  OK(rack_rig_try(rig, text, &error));
}

Status
rack_rig_plan(RackRig* const rig, Rack* const rack, Error* const error)
{
  PlanRequest request = request_for(rig, rack);
  request.stamp = rig->player.n_received;
  const Status status = plan(rig, &request, error);
  if (rig->rack != rack) {
    rack_free(rig->rack);
  }
  rig->rack = rack;
  return status;
}

void
rack_rig_leave(RackRig* const rig, const Backend* const lost)
{
  rig->backend = &backend_cpu;
  rig->gpu = &backend_cpu;
  PlanRequest request = request_for(rig, rig->rack);
  request.lost = lost;
  request.keep_values = true;
  OK(plan(rig, &request, &error));
}

void
rack_rig_begin(RackRig* const rig, const Backend* const backend, const Backend* const gpu,
               const Format* const format, const RackRigFile* const files, const uint32_t n_files)
{
  *rig = (RackRig){
    .backend = backend, .gpu = gpu, .format = *format, .files = files, .n_files = n_files
  };
  rig->loader.files = (FxFiles){ .load = find_file, .context = rig };
  const RingShape shape = {
    .n_in = 1, .n_out = 1, .block_frames = 1, .n_slots = 4, .n_messages = 4096
  };
  OK(ring_new(&shape, &rig->messages, &error));
  OK(player_init(&rig->player, &error));
  rig->player.rate_hz = format->rate_hz;
}

void
rack_rig_new(RackRig* const rig, const Backend* const backend, const Backend* const gpu,
             const char* const text, const Format* const format, const RackRigFile* const files,
             const uint32_t n_files)
{
  rack_rig_begin(rig, backend, gpu, format, files, n_files);
  rack_rig_edit(rig, text);
}

void
rack_rig_mono(RackRig* const rig, const char* const text, const uint32_t block_frames)
{
  const Format format = { .rate_hz = RACK_RIG_RATE, .block_frames = block_frames, .n_in = 1 };
  rack_rig_new(rig, &backend_cpu, NULL, text, &format, NULL, 0U);
}

void
rack_rig_free(RackRig* const rig)
{
  player_clear(&rig->player);
  ring_free(rig->messages);
  rack_free(rig->rack);
}

const FxInfo*
rack_rig_effect(const char* const text, const char* const name)
{
  Rack* const rack = rack_of(text, NULL);
  const FxInfo* fx = NULL;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    fx = strcmp(rack->nodes[n].name, name) ? fx : rack->nodes[n].fx;
  }
  rack_free(rack);
  return fx;
}

size_t
rack_rig_cases(const void* const special, const size_t n_special, const size_t case_bytes,
               void (*const make_plain)(const FxInfo* fx, void* plain), void* const cases,
               const size_t most)
{
  size_t n = n_special;
  uint32_t n_effects = 0;
  const FxInfo* const* const effects = fx_table(&n_effects);
  memcpy(cases, special, n_special * case_bytes);
  for (uint32_t e = 0; e < n_effects; ++e) {
    bool is_there = !effects[e]->kernel;
    for (size_t c = 0; !is_there && c < n_special; ++c) {
      const void* const rack = (const char*)special + c * case_bytes;
      is_there = rack_rig_effect(*(const char* const*)rack, "x") == effects[e];
    }
    if (!is_there) {
      ck_assert_uint_lt(n, most);
      make_plain(effects[e], (char*)cases + n++ * case_bytes);
    }
  }
  return n;
}

uint32_t
rack_rig_n_out(const RackRig* const rig)
{
  return rig->player.plan->n_out;
}

void
rack_rig_send(RackRig* const rig, const ParamMessage* const message)
{
  ck_assert(ring_send(rig->messages, message, 1U));
}

void
rack_rig_fade(RackRig* const rig, const char* const node, const char* const param,
              const double value, const uint64_t frame, const uint32_t fade_frames,
              const FxCurve curve)
{
  for (uint32_t n = 0; n < rig->rack->n_nodes; ++n) {
    const RackNode* const each = &rig->rack->nodes[n];
    if (!strcmp(each->name, node)) {
      const int index = fx_param_find(each->fx, param);
      ck_assert_int_ge(index, 0);
      const ParamMessage message = { .frame = frame,
                                     .uid = each->uid,
                                     .param = (uint32_t)index,
                                     .value = value,
                                     .fade_frames = fade_frames,
                                     .curve = curve };
      rack_rig_send(rig, &message);
      return;
    }
  }
  ck_abort_msg("the rack has no node %s", node);
}

void
rack_rig_set(RackRig* const rig, const char* const node, const char* const param,
             const double value, const uint64_t frame)
{
  rack_rig_fade(rig, node, param, value, frame, 0U, CURVE_LINEAR);
}

bool
rack_rig_run(RackRig* const rig, const float* const* const in, float* const* const out,
             const size_t n_frames, const RigSplit split, uint64_t seed)
{
  const uint32_t n_in = rig->format.n_in;
  const uint32_t n_out = rack_rig_n_out(rig);
  float** const ins = calloc(n_in, sizeof(float*));
  float** const outs = calloc(n_out, sizeof(float*));
  ck_assert(ins && outs);
  bool all_good = true;
  for (size_t done = 0; done < n_frames;) {
    const size_t most = split == RIG_SINGLE   ? 1U
                        : split == RIG_RANDOM ? 1U + signal_random(&seed) % rig->format.block_frames
                                              : rig->format.block_frames;
    const uint32_t n = (uint32_t)(n_frames - done < most ? n_frames - done : most);
    for (uint32_t c = 0; c < n_in; ++c) {
      ins[c] = (float*)in[c] + done;
    }
    for (uint32_t c = 0; c < n_out; ++c) {
      outs[c] = out[c] + done;
    }
    all_good &= player_run(&rig->player, rig->messages, rig->frame, n, ins, outs);
    rig->frame += n;
    done += n;
  }
  free(ins);
  free(outs);
  return all_good;
}
