// SPDX-License-Identifier: GPL-3.0-or-later
// Messages of the wire for tests: samples, a comparison, and an independent check of the ranges
// that wire.h promises.

#include "wire_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- samples ----

static const char document[] =
    "add low highpass frequency=80.5Hz order=4\n"
    "add echo delay time=4800frames backend=cpu\n"
    "connect in low gain=-6.25dB\nconnect low:1 echo\nconnect echo out\n";

static const RackUid uids[] = { 700, 16 };

static const ParamMessage parameters[] = {
  { .frame = 1ULL << 40U, .uid = 16, .param = 2, .value = -0.1, .param_id = 77 },
  { .uid = 700, .value = 1e300 },
};

static const EnginePlacement placements[] = { { 16, ENGINE_BACKEND_OPENCL, PLACE_LOST, 3, 0, 0 },
                                              { 700, ENGINE_BACKEND_CPU, PLACE_NODE,
                                                WIRE_MAX_LATENCY, 1, UINT32_MAX } };

static const unsigned char state[] = { 0, 1, 255, 0, 10 };

static const RackRefused refused = { 2, { 16, UINT32_MAX } };
static const WorkerFacts facts = { .serial = 1ULL << 50U,
                                   .rack_latency_frames = WIRE_MAX_LATENCY,
                                   .n_out = FX_MAX_CHANNELS,
                                   .n_nodes = 3,
                                   .n_units = 4,
                                   .n_ranks = 5,
                                   .tail_frames = UINT64_MAX,
                                   .memory_bytes = 1ULL << 40U,
                                   .making_bytes = 1ULL << 41U,
                                   .fallbacks = { 2,
                                                  { { 1.0F, 0.01F, false, FALLBACK_RACK },
                                                    { 0.5F, 0.5F, true, FALLBACK_LEVEL } } } };

static Rack* rack;
static int memory_fd = -1;

static const Rack*
sample_rack(void)
{
  if (!rack && (rack_parse(document, "sample", NULL, &rack, NULL) ||
                rack_set_uids(rack, uids, 2, 1000, NULL))) {
    abort(); // the sample is wrong
  }
  rack->nodes[1].is_quarantined = true;
  rack->nodes[1].dry_frames = WIRE_MAX_LATENCY;
  rack->nodes[0].is_apart = true;
  return rack;
}

static int
sample_fd(void)
{
  memory_fd = memory_fd < 0 ? memfd_create("sample", MFD_CLOEXEC) : memory_fd;
  return memory_fd;
}

static WorkerStatus
sample_status(void)
{
  return (WorkerStatus){ .facts = facts,
                         .counts = { .of = { 1, 2, 3, 4, 5, 6 } },
                         .load_p50 = 0.25,
                         .load_p99 = 0.5,
                         .load_max = 17.0,
                         .cost_us = { 12.5, (double)INFINITY },
                         .n_gpu_nodes = 7,
                         .n_bypassed = 8,
                         .needs_new_process = true,
                         .uses_cpu = true,
                         .awaits_frame = true,
                         .gpu = ENGINE_BACKEND_OPENCL,
                         .device = "a device, 8 GB \xC2\xB5",
                         .backend_note = "a note",
                         .realtime_note = "" };
}

WireSide
wire_sample_side(const WireKind kind)
{
  return kind < WIRE_READY ? WIRE_WORKER : WIRE_SERVER;
}

bool
wire_sample_has_fd(const WireKind kind)
{
  return kind == WIRE_CONFIG || kind == WIRE_ARM || kind == WIRE_PLUGINS;
}

WireMessage
wire_sample(const WireKind kind)
{
  WireMessage m = { .kind = kind };
  switch (kind) {
  case WIRE_CONFIG:
    m.config = (WireConfig){ .engine = { .n_in = 1024,
                                         .n_out = 3,
                                         .depth = 2,
                                         .on_late = { true, -20.0 },
                                         .realtime = true,
                                         .priority = 99,
                                         .n_helpers = UINT32_MAX,
                                         .backend = ENGINE_BACKEND_OPENCL,
                                         .gpu_index = 5,
                                         .memory_bytes = 1ULL << 40U,
                                         .gpu_deadline_ns = 1ULL << 60U,
                                         .plugin_start_s = ENGINE_PLUGIN_START_LONGEST_S,
                                         .gpu_may_sleep = true,
                                         .no_fusion = true,
                                         .gpu_may_be_lost = true },
                             .root = "/a folder/\xFF",
                             .rack = sample_rack(),
                             .recorder_fd = sample_fd() };
    break;
  case WIRE_ARM:
    m.arm =
        (WireArm){ .format = { .rate_hz = 44100.5, .block_frames = 8192, .n_in = 2, .n_out = 0 },
                   .first_frame = 1ULL << 33U,
                   .n_sent = 77,
                   .ring_fd = sample_fd() };
    break;
  case WIRE_EDIT:
    m.edit = (WireEdit){ .id = 9, .at_frame = 10, .stamp = 11, .rack = sample_rack() };
    break;
  case WIRE_SET:
    m.set = (WireSet){ parameters, ARRAY_LEN(parameters) };
    break;
  case WIRE_SAVE:
    m.save = (WireSave){ 1ULL << 40U, 700 };
    break;
  case WIRE_SAVED:
    m.saved = (WireSaved){ 9, { { STATUS_OK, "" }, state, sizeof(state) } };
    break;
  case WIRE_PLUGINS:
    m.plugins_fd = sample_fd();
    break;
  case WIRE_READY:
  case WIRE_STATUS:
    m.status = sample_status();
    break;
  case WIRE_FAILED:
    m.failed = (Error){ STATUS_NO_BACKEND, "no such device" };
    break;
  case WIRE_ARMED:
    m.armed = (WireArmed){ { STATUS_OK, "" }, refused, facts };
    break;
  case WIRE_REPLY:
    m.reply =
        (WireReply){ 9, { STATUS_FILE, "no such file", 1ULL << 40U, 128, 7, refused }, facts };
    break;
  case WIRE_CHANGED:
    m.changed = facts;
    break;
  case WIRE_PLACEMENTS:
    m.placements = (WirePlacements){ placements, ARRAY_LEN(placements) };
    break;
  case WIRE_LOST:
    m.lost = (EngineNodeLoss){ 700, RECORDER_RUN, true, true };
    break;
  case WIRE_NOTE:
    strcpy(m.note, "the costs of this GPU are measured once: \xE2\x80\xA6");
    break;
  default:
    break;
  }
  return m;
}

void
wire_samples_clear(void)
{
  rack_free(rack);
  rack = NULL;
  if (memory_fd >= 0) {
    close(memory_fd);
  }
  memory_fd = -1;
}

// ---- comparison ----

static bool
bits_equal(const double a, const double b)
{
  return !memcmp(&a, &b, sizeof(a));
}

static bool
nodes_equal(const RackNode* const a, const RackNode* const b)
{
  bool equal = a->uid == b->uid && !strcmp(a->name, b->name) && a->fx == b->fx &&
               a->backend == b->backend && a->is_quarantined == b->is_quarantined &&
               a->dry_frames == b->dry_frames && a->is_apart == b->is_apart;
  for (uint32_t p = 0; equal && p < a->fx->n_params; ++p) {
    const RackValue* const v = &a->values[p];
    const RackValue* const w = &b->values[p];
    equal = v->kind == w->kind && bits_equal(v->number, w->number) && !v->text == !w->text &&
            (!v->text || !strcmp(v->text, w->text));
  }
  return equal;
}

static bool
ends_equal(const RackEnd a, const RackEnd b)
{
  return a.uid == b.uid && a.first == b.first && a.last == b.last;
}

bool
wire_racks_equal(const Rack* const a, const Rack* const b)
{
  bool equal = a->n_nodes == b->n_nodes && a->n_edges == b->n_edges && a->next_uid == b->next_uid;
  for (uint32_t n = 0; equal && n < a->n_nodes; ++n) {
    equal = nodes_equal(&a->nodes[n], &b->nodes[n]) &&
            rack_find(b, a->nodes[n].name) == &b->nodes[n] &&
            rack_find_uid(b, a->nodes[n].uid) == &b->nodes[n];
  }
  for (uint32_t e = 0; equal && e < a->n_edges; ++e) {
    equal = ends_equal(a->edges[e].from, b->edges[e].from) &&
            ends_equal(a->edges[e].to, b->edges[e].to) &&
            bits_equal(a->edges[e].gain_db, b->edges[e].gain_db);
  }
  return equal;
}

static bool
fallbacks_equal(const Fallbacks* const a, const Fallbacks* const b)
{
  bool equal = a->n == b->n;
  for (uint32_t c = 0; equal && c < a->n; ++c) {
    const Fallback* const v = &a->of[c];
    const Fallback* const w = &b->of[c];
    equal = v->level == w->level && v->response == w->response && v->follows == w->follows &&
            v->why == w->why;
  }
  return equal;
}

static bool
facts_equal(const WorkerFacts* const a, const WorkerFacts* const b)
{
  return a->serial == b->serial && a->rack_latency_frames == b->rack_latency_frames &&
         a->n_out == b->n_out && a->n_nodes == b->n_nodes && a->n_units == b->n_units &&
         a->n_ranks == b->n_ranks && a->tail_frames == b->tail_frames &&
         a->memory_bytes == b->memory_bytes && a->making_bytes == b->making_bytes &&
         fallbacks_equal(&a->fallbacks, &b->fallbacks);
}

static bool
descriptors_equal(const int a, const int b)
{
  struct stat files[2];
  return !fstat(a, &files[0]) && !fstat(b, &files[1]) && files[0].st_dev == files[1].st_dev &&
         files[0].st_ino == files[1].st_ino;
}

static bool
configs_equal(const WireConfig* const a, const WireConfig* const b)
{
  const EngineConfig* const v = &a->engine;
  const EngineConfig* const w = &b->engine;
  return v->n_in == w->n_in && v->n_out == w->n_out && v->depth == w->depth &&
         v->on_late.is_fixed == w->on_late.is_fixed &&
         bits_equal(v->on_late.level_db, w->on_late.level_db) && v->realtime == w->realtime &&
         v->priority == w->priority && v->n_helpers == w->n_helpers && v->backend == w->backend &&
         v->gpu_index == w->gpu_index && v->memory_bytes == w->memory_bytes &&
         v->gpu_deadline_ns == w->gpu_deadline_ns && v->plugin_start_s == w->plugin_start_s &&
         v->gpu_may_sleep == w->gpu_may_sleep && v->no_fusion == w->no_fusion &&
         v->gpu_may_be_lost == w->gpu_may_be_lost && !strcmp(a->root, b->root) &&
         !a->rack == !b->rack && (!a->rack || wire_racks_equal(a->rack, b->rack)) &&
         descriptors_equal(a->recorder_fd, b->recorder_fd);
}

static bool
arms_equal(const WireArm* const a, const WireArm* const b)
{
  return a->format.rate_hz == b->format.rate_hz &&
         a->format.block_frames == b->format.block_frames && a->format.n_in == b->format.n_in &&
         a->format.n_out == b->format.n_out && a->format.offline == b->format.offline &&
         a->first_frame == b->first_frame && a->n_sent == b->n_sent &&
         descriptors_equal(a->ring_fd, b->ring_fd);
}

static bool
parameters_equal(const WireSet* const a, const WireSet* const b)
{
  bool equal = a->n == b->n;
  for (uint32_t i = 0; equal && i < a->n; ++i) {
    const ParamMessage* const v = &a->messages[i];
    const ParamMessage* const w = &b->messages[i];
    equal = v->frame == w->frame && v->uid == w->uid && v->param == w->param &&
            v->param_id == w->param_id && bits_equal(v->value, w->value);
  }
  return equal;
}

static bool
statuses_equal(const WorkerStatus* const a, const WorkerStatus* const b)
{
  return facts_equal(&a->facts, &b->facts) && !memcmp(&a->counts, &b->counts, sizeof(a->counts)) &&
         a->load_p50 == b->load_p50 && a->load_p99 == b->load_p99 && a->load_max == b->load_max &&
         !memcmp(a->cost_us, b->cost_us, sizeof(a->cost_us)) && a->n_gpu_nodes == b->n_gpu_nodes &&
         a->n_bypassed == b->n_bypassed && a->needs_new_process == b->needs_new_process &&
         a->uses_cpu == b->uses_cpu && a->awaits_frame == b->awaits_frame && a->gpu == b->gpu &&
         !strcmp(a->device, b->device) && !strcmp(a->backend_note, b->backend_note) &&
         !strcmp(a->realtime_note, b->realtime_note);
}

static bool
refused_equal(const RackRefused* const a, const RackRefused* const b)
{
  return a->n == b->n && !memcmp(a->uids, b->uids, a->n * sizeof(RackUid));
}

static bool
replies_equal(const WireReply* const a, const WireReply* const b)
{
  return a->id == b->id && a->reply.status == b->reply.status &&
         !strcmp(a->reply.text, b->reply.text) && a->reply.frame == b->reply.frame &&
         a->reply.latency_frames == b->reply.latency_frames &&
         a->reply.refused_edge == b->reply.refused_edge &&
         refused_equal(&a->reply.refused, &b->reply.refused) && facts_equal(&a->facts, &b->facts);
}

static bool
errors_equal(const Error* const a, const Error* const b)
{
  return a->status == b->status && !strcmp(a->text, b->text);
}

static bool
saved_equal(const WireSaved* const a, const WireSaved* const b)
{
  return a->id == b->id && errors_equal(&a->saved.error, &b->saved.error) &&
         a->saved.n_bytes == b->saved.n_bytes &&
         (!a->saved.n_bytes || !memcmp(a->saved.bytes, b->saved.bytes, a->saved.n_bytes));
}

static bool
places_equal(const WirePlacements* const a, const WirePlacements* const b)
{
  bool equal = a->n == b->n;
  for (uint32_t p = 0; equal && p < a->n; ++p) {
    equal = a->placements[p].uid == b->placements[p].uid &&
            a->placements[p].backend == b->placements[p].backend &&
            a->placements[p].reason == b->placements[p].reason &&
            a->placements[p].latency_frames == b->placements[p].latency_frames &&
            a->placements[p].p50_ns == b->placements[p].p50_ns &&
            a->placements[p].p99_ns == b->placements[p].p99_ns;
  }
  return equal;
}

bool
wire_messages_equal(const WireMessage* const a, const WireMessage* const b)
{
  if (a->kind != b->kind) {
    return false;
  }
  switch (a->kind) {
  case WIRE_CONFIG:
    return configs_equal(&a->config, &b->config);
  case WIRE_ARM:
    return arms_equal(&a->arm, &b->arm);
  case WIRE_EDIT:
    return a->edit.id == b->edit.id && a->edit.at_frame == b->edit.at_frame &&
           a->edit.stamp == b->edit.stamp && wire_racks_equal(a->edit.rack, b->edit.rack);
  case WIRE_SET:
    return parameters_equal(&a->set, &b->set);
  case WIRE_SAVE:
    return a->save.id == b->save.id && a->save.uid == b->save.uid;
  case WIRE_SAVED:
    return saved_equal(&a->saved, &b->saved);
  case WIRE_PLUGINS:
    return descriptors_equal(a->plugins_fd, b->plugins_fd);
  case WIRE_READY:
  case WIRE_STATUS:
    return statuses_equal(&a->status, &b->status);
  case WIRE_FAILED:
    return errors_equal(&a->failed, &b->failed);
  case WIRE_ARMED:
    return errors_equal(&a->armed.error, &b->armed.error) &&
           refused_equal(&a->armed.refused, &b->armed.refused) &&
           facts_equal(&a->armed.facts, &b->armed.facts);
  case WIRE_REPLY:
    return replies_equal(&a->reply, &b->reply);
  case WIRE_CHANGED:
    return facts_equal(&a->changed, &b->changed);
  case WIRE_PLACEMENTS:
    return places_equal(&a->placements, &b->placements);
  case WIRE_LOST:
    return a->lost.uid == b->lost.uid && a->lost.phase == b->lost.phase &&
           a->lost.is_hang == b->lost.is_hang && a->lost.is_guess == b->lost.is_guess;
  case WIRE_NOTE:
    return !strcmp(a->note, b->note);
  default:
    return true;
  }
}

// ---- ranges ----

static bool
fallbacks_in_range(const Fallbacks* const fallbacks)
{
  bool is_good = fallbacks->n <= 1024U;
  for (uint32_t c = 0; is_good && c < fallbacks->n; ++c) {
    const Fallback* const f = &fallbacks->of[c];
    is_good = f->level >= 0.0F && f->level <= 1.0F && f->response >= 0.0F && f->response <= 1.0F &&
              (unsigned)f->why < FALLBACK_N_WHYS;
  }
  return is_good;
}

static const char*
facts_out_of_range(const WorkerFacts* const f)
{
  return f->rack_latency_frames > 2000000U    ? "latency"
         : f->n_out > 1024U                   ? "n_out"
         : f->n_nodes > 16384U                ? "n_nodes"
         : f->n_units > 16384U * 1024U        ? "n_units"
         : f->n_ranks > 16384U                ? "n_ranks"
         : !fallbacks_in_range(&f->fallbacks) ? "fallbacks"
                                              : NULL;
}

static bool
is_text(const char* const text, const size_t n_bytes)
{
  const size_t n = strnlen(text, n_bytes);
  bool is_good = n < n_bytes;
  for (size_t i = 0; is_good && i < n; ++i) {
    is_good = (unsigned char)text[i] >= 0x20U && text[i] != 0x7F;
  }
  return is_good;
}

static bool
is_outcome(const Status status, const char* const text, const size_t n_bytes)
{
  return (unsigned)status < STATUS_N_STATUSES && is_text(text, n_bytes) && !status == !text[0];
}

static bool
is_load(const double load)
{
  return isfinite(load) && load >= 0.0;
}

static const char*
status_out_of_range(const WorkerStatus* const s)
{
  const char* const wrong = facts_out_of_range(&s->facts);
  return wrong                                                                     ? wrong
         : !is_load(s->load_p50) || !is_load(s->load_p99) || !is_load(s->load_max) ? "load"
         : !(s->cost_us[0] >= 0.0) || !(s->cost_us[1] >= 0.0)                      ? "cost"
         : s->n_gpu_nodes > 16384U                                                 ? "n_gpu_nodes"
         : s->n_bypassed > 16384U                                                  ? "n_bypassed"
         : s->gpu < ENGINE_BACKEND_CPU || s->gpu > ENGINE_BACKEND_OPENCL           ? "backend"
         : !is_text(s->device, sizeof(s->device)) ||
                 !is_text(s->backend_note, sizeof(s->backend_note)) ||
                 !is_text(s->realtime_note, sizeof(s->realtime_note))
             ? "text"
             : NULL;
}

static const char*
config_out_of_range(const WireConfig* const c)
{
  return c->engine.n_in > 1024U || c->engine.n_out > 1024U        ? "channels"
         : c->engine.depth > 2U                                   ? "depth"
         : !(c->engine.on_late.level_db <= 0.0)                   ? "on_late"
         : c->engine.priority < 0 || c->engine.priority > 99      ? "priority"
         : (unsigned)c->engine.backend > ENGINE_BACKEND_OPENCL    ? "backend"
         : !c->root[0] || !memchr(c->root, '\0', sizeof(c->root)) ? "root"
         : c->engine.costs || c->engine.note || c->engine.files.load || c->engine.files.free ||
                 c->engine.offline
             ? "a field that the wire does not carry"
             : NULL;
}

static const char*
arm_out_of_range(const WireArm* const a)
{
  return !(a->format.rate_hz >= 1000.0 && a->format.rate_hz <= 1e6)               ? "rate"
         : a->format.block_frames < 1U || a->format.block_frames > 8192U          ? "block"
         : a->format.n_in > 1024U || a->format.n_out > 1024U || a->format.offline ? "format"
         : a->ring_fd < 0                                                         ? "descriptor"
                                                                                  : NULL;
}

static const char*
rack_out_of_range(const Rack* const r)
{
  bool is_good = !rack_check(r, NULL);
  for (uint32_t n = 0; is_good && n < r->n_nodes; ++n) {
    is_good = r->nodes[n].uid >= RACK_UID_FIRST && r->nodes[n].uid < r->next_uid &&
              rack_find_uid(r, r->nodes[n].uid) == &r->nodes[n] &&
              r->nodes[n].dry_frames <= WIRE_MAX_LATENCY;
  }
  return is_good ? NULL : "rack";
}

static const char*
set_out_of_range(const WireSet* const set)
{
  bool is_good = set->n >= 1U && set->n <= WIRE_MAX_MESSAGES;
  for (uint32_t i = 0; is_good && i < set->n; ++i) {
    is_good = isfinite(set->messages[i].value);
  }
  return is_good ? NULL : "parameter";
}

static const char*
places_out_of_range(const WirePlacements* const p)
{
  bool is_good = p->n <= RACK_MAX_NODES;
  for (uint32_t i = 0; is_good && i < p->n; ++i) {
    is_good = p->placements[i].uid >= RACK_UID_FIRST &&
              p->placements[i].backend >= ENGINE_BACKEND_CPU &&
              p->placements[i].backend <= ENGINE_BACKEND_OPENCL &&
              (unsigned)p->placements[i].reason < PLACE_N_REASONS &&
              p->placements[i].latency_frames <= WIRE_MAX_LATENCY;
  }
  return is_good ? NULL : "place";
}

static const char*
saved_out_of_range(const EngineSaved* const s)
{
  const bool is_size = s->error.status ? !s->n_bytes : s->n_bytes >= 1U && s->n_bytes <= 16U << 20U;
  return !is_outcome(s->error.status, s->error.text, sizeof(s->error.text)) ? "error"
         : !is_size                                                         ? "size of a state"
                                                                            : NULL;
}

const char*
wire_field_out_of_range(const WireMessage* const m)
{
  const char* wrong = NULL;
  switch (m->kind) {
  case WIRE_CONFIG:
    return config_out_of_range(&m->config);
  case WIRE_ARM:
    return arm_out_of_range(&m->arm);
  case WIRE_EDIT:
    return m->edit.rack ? rack_out_of_range(m->edit.rack)
                        : (m->edit.refusal.status ? NULL : "refusal");
  case WIRE_SET:
    return set_out_of_range(&m->set);
  case WIRE_SAVE:
    return m->save.uid < RACK_UID_FIRST ? "uid" : NULL;
  case WIRE_SAVED:
    return saved_out_of_range(&m->saved.saved);
  case WIRE_PLUGINS:
    return m->plugins_fd < 0 ? "descriptor" : NULL;
  case WIRE_READY:
  case WIRE_STATUS:
    return status_out_of_range(&m->status);
  case WIRE_FAILED:
    return m->failed.status && is_outcome(m->failed.status, m->failed.text, sizeof(m->failed.text))
               ? NULL
               : "error";
  case WIRE_ARMED:
    wrong = facts_out_of_range(&m->armed.facts);
    return is_outcome(m->armed.error.status, m->armed.error.text, sizeof(m->armed.error.text))
               ? wrong
               : "error";
  case WIRE_REPLY:
    wrong = facts_out_of_range(&m->reply.facts);
    return is_outcome(m->reply.reply.status, m->reply.reply.text, sizeof(m->reply.reply.text)) &&
                   m->reply.reply.latency_frames <= 2000000U
               ? wrong
               : "reply";
  case WIRE_CHANGED:
    return facts_out_of_range(&m->changed);
  case WIRE_PLACEMENTS:
    return places_out_of_range(&m->placements);
  case WIRE_LOST:
    return m->lost.uid >= RACK_UID_FIRST && m->lost.phase > RECORDER_NONE &&
                   m->lost.phase < RECORDER_N_PHASES
               ? NULL
               : "lost node";
  case WIRE_NOTE:
    return is_text(m->note, sizeof(m->note)) ? NULL : "note";
  case WIRE_DISARM:
  case WIRE_RESET_LOAD:
  case WIRE_DISARMED:
    return NULL;
  default:
    return "kind";
  }
}
