// SPDX-License-Identifier: GPL-3.0-or-later
// LV2 plugins that report what the host gives them, see fixtures.ttl.  No code of warprack.

#include <lv2/atom/atom.h>
#include <lv2/atom/util.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/core/lv2.h>
#include <lv2/options/options.h>
#include <lv2/parameters/parameters.h>
#include <lv2/patch/patch.h>
#include <lv2/time/time.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_PORTS     16
#define LINE_FRAMES 1024U // a power of two

typedef struct Fixture {
  float* ports[N_PORTS];
  LV2_URID_Map* map;
  LV2_URID_Unmap* unmap;
  const LV2_Worker_Schedule* schedule;
  const LV2_Options_Option* options;
  bool is_fixed, is_power, is_in_folder;
  float line[LINE_FRAMES];
  unsigned n_frames, n_runs, n_positions, n_messages, n_others;
  // of `echo`
  unsigned n_asked, n_refused, n_answers, n_ends, n_faults;
  unsigned n_worked; // of the thread that works
  _Atomic unsigned n_at_once;
  _Atomic pthread_t run_thread;
  _Atomic bool is_slow;
  _Atomic bool is_stuck;
  _Atomic bool works;
  // of `properties`
  double values[5];
  unsigned n_path, n_string; ///< Length of texts
} Fixture;

// ---- common ----

static void
connect_port(const LV2_Handle handle, const uint32_t port, void* const data)
{
  ((Fixture*)handle)->ports[port] = data;
}

static LV2_Handle
instantiate(const LV2_Descriptor* const descriptor, const double rate, const char* const folder,
            const LV2_Feature* const* const features)
{
  (void)descriptor;
  (void)rate;
  Fixture* const fixture = calloc(1, sizeof(*fixture));
  const char* const end = "/fixtures.lv2/";
  const size_t n = strlen(folder);
  fixture->is_in_folder = n > strlen(end) && !strcmp(folder + n - strlen(end), end);
  for (uint32_t f = 0; features[f]; ++f) {
    const char* const uri = features[f]->URI;
    void* const data = features[f]->data;
    fixture->map = strcmp(uri, LV2_URID__map) ? fixture->map : data;
    fixture->unmap = strcmp(uri, LV2_URID__unmap) ? fixture->unmap : data;
    fixture->schedule = strcmp(uri, LV2_WORKER__schedule) ? fixture->schedule : data;
    fixture->options = strcmp(uri, LV2_OPTIONS__options) ? fixture->options : data;
    fixture->is_fixed = fixture->is_fixed || !strcmp(uri, LV2_BUF_SIZE__fixedBlockLength);
    fixture->is_power = fixture->is_power || !strcmp(uri, LV2_BUF_SIZE__powerOf2BlockLength);
  }
  return fixture;
}

/// As instantiate(), and asks for work; then fails if the environment asks for it.
static LV2_Handle
instantiate_and_ask(const LV2_Descriptor* const descriptor, const double rate,
                    const char* const folder, const LV2_Feature* const* const features)
{
  Fixture* const fixture = instantiate(descriptor, rate, folder, features);
  const unsigned request[2] = { 0, ~0U };
  fixture->n_asked =
      !fixture->schedule->schedule_work(fixture->schedule->handle, sizeof(request), request);
  if (getenv("WARPRACK_TEST_REFUSE")) {
    free(fixture);
    return NULL;
  }
  return fixture;
}

static LV2_Handle
refuse(const LV2_Descriptor* const descriptor, const double rate, const char* const folder,
       const LV2_Feature* const* const features)
{
  (void)descriptor;
  (void)rate;
  (void)folder;
  (void)features;
  return NULL;
}

static void
cleanup(const LV2_Handle handle)
{
  if (((Fixture*)handle)->works) {
    abort();
  }
  free(handle);
}

// ---- audio ----

/// Also writes to its input.
static void
run_gain(const LV2_Handle handle, const uint32_t n_frames)
{
  Fixture* const fixture = handle;
  const float gain = *fixture->ports[3] > 0.0F ? 1.0F : powf(10.0F, *fixture->ports[2] / 20.0F);
  for (uint32_t i = 0; i < n_frames; ++i) {
    fixture->ports[1][i] = fixture->ports[0][i] * gain;
    fixture->ports[0][i] = -1.0F;
  }
}

static void
run_ducker(const LV2_Handle handle, const uint32_t n_frames)
{
  Fixture* const fixture = handle;
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float gain = 1.0F - fixture->ports[1][i] - fixture->ports[3][i];
    fixture->ports[4][i] = fixture->ports[0][i] * gain;
    fixture->ports[5][i] = fixture->ports[2][i] * gain;
  }
}

static void
run_latent(const LV2_Handle handle, const uint32_t n_frames)
{
  Fixture* const fixture = handle;
  const unsigned latency = (unsigned)*fixture->ports[2];
  for (uint32_t i = 0; i < n_frames; ++i, ++fixture->n_frames) {
    fixture->line[fixture->n_frames % LINE_FRAMES] = fixture->ports[0][i];
    fixture->ports[1][i] = fixture->line[(fixture->n_frames - latency) % LINE_FRAMES];
  }
  *fixture->ports[3] = (float)latency;
}

/// Keeps what activate() should clear.
static void
run_memory(const LV2_Handle handle, const uint32_t n_frames)
{
  Fixture* const fixture = handle;
  for (uint32_t i = 0; i < n_frames; ++i) {
    fixture->line[0] += fixture->ports[0][i];
    fixture->ports[1][i] = fixture->line[0];
  }
  *fixture->ports[3] = (float)++fixture->n_runs;
  *fixture->ports[4] = *fixture->ports[2];
  *fixture->ports[6] = *fixture->ports[5];
}

static void
run_optional(const LV2_Handle handle, const uint32_t n_frames)
{
  Fixture* const fixture = handle;
  float level = 0.0F;
  for (uint32_t i = 0; i < n_frames; ++i) {
    level += fabsf(fixture->ports[0][i]);
    fixture->ports[0][i] = 1.0F;
    fixture->ports[1][i] = 1.0F;
  }
  *fixture->ports[4] = (float)((fixture->ports[2] ? 1 : 0) + (fixture->ports[3] ? 2 : 0));
  *fixture->ports[5] = level;
}

static void
run_nothing(const LV2_Handle handle, const uint32_t n_frames)
{
  (void)handle;
  (void)n_frames;
}

// ---- work ----

static void
run_echo(const LV2_Handle handle, const uint32_t n_frames)
{
  (void)n_frames;
  Fixture* const fixture = handle;
  fixture->run_thread = pthread_self();
  fixture->is_slow = *fixture->ports[1] > 0.0F;
  fixture->is_stuck = *fixture->ports[8] > 0.0F;
  for (unsigned i = 0; i < (unsigned)*fixture->ports[0]; ++i) {
    const unsigned request[2] = { fixture->n_asked, ~fixture->n_asked };
    if (fixture->schedule->schedule_work(fixture->schedule->handle, sizeof(request), request)) {
      ++fixture->n_refused;
    } else {
      ++fixture->n_asked;
    }
  }
  *fixture->ports[2] = (float)fixture->n_asked;
  *fixture->ports[3] = (float)fixture->n_answers;
  *fixture->ports[4] = (float)fixture->n_ends;
  *fixture->ports[5] = (float)fixture->n_faults;
  *fixture->ports[6] = (float)fixture->n_refused;
  *fixture->ports[7] = (float)fixture->n_at_once;
}

static LV2_Worker_Status
work(const LV2_Handle handle, const LV2_Worker_Respond_Function respond,
     const LV2_Worker_Respond_Handle to, const uint32_t size, const void* const data)
{
  Fixture* const fixture = handle;
  unsigned request[5] = { 0 };
  fixture->works = true;
  memcpy(request, data, size < sizeof(request) ? size : sizeof(request));
  request[2] =
      size == 2U * sizeof(unsigned) && request[1] == ~request[0] && request[0] == fixture->n_worked;
  ++fixture->n_worked;
  fixture->n_at_once += pthread_equal(pthread_self(), fixture->run_thread) != 0;
  if (fixture->is_slow) {
    usleep(20000);
  }
  while (fixture->is_stuck) {
    usleep(1000);
  }
  LV2_Worker_Status status = respond(to, sizeof(request), request);
  for (int i = 0; status && i < 10000; ++i) { // until a run has made room
    usleep(1000);
    status = respond(to, sizeof(request), request);
  }
  fixture->works = false;
  return status;
}

static LV2_Worker_Status
work_response(const LV2_Handle handle, const uint32_t size, const void* const data)
{
  Fixture* const fixture = handle;
  const unsigned* const response = data;
  const bool is_right = size == 5U * sizeof(unsigned) && response[0] == fixture->n_answers &&
                        response[2] == 1U && !response[3] && !response[4] &&
                        pthread_equal(pthread_self(), fixture->run_thread);
  fixture->n_faults += !is_right;
  ++fixture->n_answers;
  return LV2_WORKER_SUCCESS;
}

static LV2_Worker_Status
end_run(const LV2_Handle handle)
{
  Fixture* const fixture = handle;
  ++fixture->n_ends;
  return LV2_WORKER_SUCCESS;
}

static const void*
echo_extension(const char* const uri)
{
  static const LV2_Worker_Interface interface = { work, work_response, end_run };
  return strcmp(uri, LV2_WORKER__interface) ? NULL : &interface;
}

// ---- events ----

static LV2_URID
map(const Fixture* const fixture, const char* const uri)
{
  return fixture->map->map(fixture->map->handle, uri);
}

/// The number of an atom, if it has the type that a property must have.
static bool
number_of(const Fixture* const fixture, const unsigned property, const LV2_Atom* const atom,
          double* const number)
{
  static const char* const types[] = { LV2_ATOM__Float, LV2_ATOM__Int, LV2_ATOM__Long,
                                       LV2_ATOM__Double, LV2_ATOM__Bool };
  if (atom->type != map(fixture, types[property])) {
    return false;
  }
  const void* const body = atom + 1;
  switch (property) {
  case 0:
    *number = (double)*(const float*)body;
    return atom->size == 4U;
  case 2:
    *number = (double)*(const int64_t*)body;
    return atom->size == 8U;
  case 3:
    *number = *(const double*)body;
    return atom->size == 8U;
  default:
    *number = *(const int32_t*)body;
    return atom->size == 4U;
  }
}

/// The length of a text, if it has the type that a property must have; else 0.
static unsigned
length_of(const Fixture* const fixture, const LV2_Atom* const property, const char* const uri,
          const LV2_Atom* const text, const char* const type)
{
  const bool is_it = ((const LV2_Atom_URID*)property)->body == map(fixture, uri) &&
                     text->type == map(fixture, type);
  const char* const body = (const char*)(text + 1);
  return is_it && text->size && !body[text->size - 1U] ? (unsigned)strlen(body) : 0U;
}

static void
read_set(Fixture* const fixture, const LV2_Atom_Object* const object)
{
  static const char* const names[] = { "float", "int", "long", "double", "bool" };
  const LV2_Atom* property = NULL;
  const LV2_Atom* value = NULL;
  lv2_atom_object_get(object, map(fixture, LV2_PATCH__property), &property,
                      map(fixture, LV2_PATCH__value), &value, 0);
  if (property && value) {
    const unsigned n_path =
        length_of(fixture, property, "urn:warprack:fixtures#path", value, LV2_ATOM__Path);
    const unsigned n_string =
        length_of(fixture, property, "urn:warprack:fixtures#string", value, LV2_ATOM__String);
    fixture->n_path += n_path;
    fixture->n_string += n_string;
  }
  char uri[64] = "urn:warprack:fixtures#";
  const size_t n = strlen(uri);
  for (unsigned p = 0; property && value && p < 5U; ++p) {
    strcpy(uri + n, names[p]);
    if (property->type == map(fixture, LV2_ATOM__URID) &&
        ((const LV2_Atom_URID*)property)->body == map(fixture, uri) &&
        number_of(fixture, p, value, &fixture->values[p])) {
      ++fixture->n_messages;
    }
  }
}

static void
run_properties(const LV2_Handle handle, const uint32_t n_frames)
{
  (void)n_frames;
  Fixture* const fixture = handle;
  const LV2_Atom_Sequence* const others = (const LV2_Atom_Sequence*)fixture->ports[0];
  const LV2_Atom_Sequence* const control = (const LV2_Atom_Sequence*)fixture->ports[1];
  const LV2_Atom* const notify = (const LV2_Atom*)fixture->ports[2];
  LV2_ATOM_SEQUENCE_FOREACH(others, event)
  {
    ++fixture->n_others;
  }
  LV2_ATOM_SEQUENCE_FOREACH(control, event)
  {
    const LV2_Atom_Object* const object = (const LV2_Atom_Object*)&event->body;
    if (event->time.frames == 0 && event->body.type == map(fixture, LV2_ATOM__Object) &&
        object->body.otype == map(fixture, LV2_PATCH__Set)) {
      read_set(fixture, object);
    }
  }
  double sum = 0.0;
  for (unsigned p = 0; p < 5U; ++p) {
    sum += fixture->values[p];
  }
  *fixture->ports[3] = (float)sum;
  *fixture->ports[4] = (float)fixture->n_messages;
  *fixture->ports[5] = notify->type == map(fixture, LV2_ATOM__Chunk) &&
                               others->atom.type == map(fixture, LV2_ATOM__Sequence)
                           ? (float)notify->size
                           : 0.0F;
  *fixture->ports[6] = (float)fixture->n_others;
  *fixture->ports[7] = (float)(fixture->n_path + 10000U * fixture->n_string);
  // The host must set the capacity again.
  ((LV2_Atom*)fixture->ports[2])->size = 0;
}

static void
run_clock(const LV2_Handle handle, const uint32_t n_frames)
{
  (void)n_frames;
  Fixture* const fixture = handle;
  LV2_ATOM_SEQUENCE_FOREACH((const LV2_Atom_Sequence*)fixture->ports[0], event)
  {
    const LV2_Atom_Object* const object = (const LV2_Atom_Object*)&event->body;
    const LV2_Atom* tempo = NULL;
    const LV2_Atom* speed = NULL;
    const LV2_Atom* frame = NULL;
    const LV2_Atom* bar = NULL;
    const LV2_Atom* beat = NULL;
    lv2_atom_object_get(object, map(fixture, LV2_TIME__beatsPerMinute), &tempo,
                        map(fixture, LV2_TIME__speed), &speed, map(fixture, LV2_TIME__frame),
                        &frame, map(fixture, LV2_TIME__bar), &bar, map(fixture, LV2_TIME__barBeat),
                        &beat, 0);
    if (object->body.otype == map(fixture, LV2_TIME__Position) && tempo && speed && frame && bar &&
        beat) {
      ++fixture->n_positions;
      *fixture->ports[2] = ((const LV2_Atom_Float*)tempo)->body;
      *fixture->ports[3] = ((const LV2_Atom_Float*)speed)->body;
      *fixture->ports[4] =
          4.0F * (float)((const LV2_Atom_Long*)bar)->body + ((const LV2_Atom_Float*)beat)->body;
      *fixture->ports[5] = (float)((const LV2_Atom_Long*)frame)->body;
    }
  }
  *fixture->ports[1] = (float)fixture->n_positions;
}

// ---- options ----

/// An option of four bytes with this type; -1 if there is none.
static float
option(const Fixture* const fixture, const char* const key, const char* const type)
{
  for (const LV2_Options_Option* o = fixture->options; o->key; ++o) {
    if (o->key == map(fixture, key) && o->type == map(fixture, type) && o->size == 4U) {
      return strcmp(type, LV2_ATOM__Int) ? *(const float*)o->value
                                         : (float)*(const int32_t*)o->value;
    }
  }
  return -1.0F;
}

static void
run_options(const LV2_Handle handle, const uint32_t n_frames)
{
  (void)n_frames;
  Fixture* const fixture = handle;
  *fixture->ports[0] = option(fixture, LV2_BUF_SIZE__minBlockLength, LV2_ATOM__Int);
  *fixture->ports[1] = option(fixture, LV2_BUF_SIZE__maxBlockLength, LV2_ATOM__Int);
  *fixture->ports[2] = option(fixture, LV2_BUF_SIZE__nominalBlockLength, LV2_ATOM__Int);
  *fixture->ports[3] = option(fixture, LV2_BUF_SIZE__sequenceSize, LV2_ATOM__Int);
  *fixture->ports[4] = option(fixture, LV2_PARAMETERS__sampleRate, LV2_ATOM__Float);
  *fixture->ports[5] = fixture->is_fixed;
  *fixture->ports[6] = fixture->is_power;
  const LV2_URID urid = map(fixture, "urn:warprack:a");
  const char* const uri = fixture->unmap->unmap(fixture->unmap->handle, urid);
  *fixture->ports[7] = fixture->is_in_folder && uri && !strcmp(uri, "urn:warprack:a");
}

// ---- the list ----

#define PLUGIN(name, make, run_it, extension)                                                      \
  {                                                                                                \
    "urn:warprack:" name, make, connect_port, NULL, run_it, NULL, cleanup, extension               \
  }

LV2_SYMBOL_EXPORT const LV2_Descriptor*
lv2_descriptor(const uint32_t index)
{
  static const LV2_Descriptor plugins[] = {
    PLUGIN("gain", instantiate, run_gain, NULL),
    PLUGIN("ducker", instantiate, run_ducker, NULL),
    PLUGIN("latent", instantiate, run_latent, NULL),
    PLUGIN("echo", instantiate, run_echo, echo_extension),
    PLUGIN("early", instantiate_and_ask, run_echo, echo_extension),
    PLUGIN("properties", instantiate, run_properties, NULL),
    PLUGIN("clock", instantiate, run_clock, NULL),
    PLUGIN("optional", instantiate, run_optional, NULL),
    PLUGIN("choices", instantiate, run_nothing, NULL),
    PLUGIN("options", instantiate, run_options, NULL),
    PLUGIN("memory", instantiate, run_memory, NULL),
    PLUGIN("refuser", refuse, run_nothing, NULL),
  };
  return index < sizeof(plugins) / sizeof(plugins[0]) ? &plugins[index] : NULL;
}
