// SPDX-License-Identifier: GPL-3.0-or-later
// An LV2 plugin that learns the peak of its input, which is its state, and multiplies the input by
// one more than that.  "Mode" says how it misbehaves when its state is saved.  No code of warprack.

#include "stateful.h"

#include <lv2/atom/forge.h>
#include <lv2/core/lv2.h>
#include <lv2/state/state.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEARNER     "urn:warprack:learner"
#define PIECE_BYTES ((size_t)1U << 20U)
#define N_PIECES    1024U

enum { IN, OUT, MODE };

/// What save() does.
enum { GOOD, LARGE, LARGE_DEAF, FOREIGN, EVENT, NOT_PLAIN, CRASH, HANG, FAIL };

typedef struct Learner {
  Stateful base;
  _Atomic float peak;
  char folder[1024];
} Learner;

/// A vector of two numbers, as LV2 defines its memory.
typedef struct Curve {
  LV2_Atom_Vector_Body head;
  float numbers[2];
} Curve;

static LV2_Handle
instantiate(const LV2_Descriptor* const descriptor, const double rate, const char* const folder,
            const LV2_Feature* const* const features)
{
  (void)descriptor;
  (void)rate;
  Learner* const learner = calloc(1, sizeof(*learner));
  learner->base.map = feature(features, LV2_URID__map);
  snprintf(learner->folder, sizeof(learner->folder), "%s", folder);
  return learner;
}

static void
run(const LV2_Handle handle, const uint32_t n_frames)
{
  Learner* const learner = handle;
  learner->base.mode = (int)*learner->base.ports[MODE];
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float sample = learner->base.ports[IN][i];
    learner->peak = fmaxf(learner->peak, fabsf(sample));
    learner->base.ports[OUT][i] = sample + sample * learner->peak;
  }
}

// ---- state ----

static Curve
curve_of(const Learner* const learner)
{
  const float peak = learner->peak;
  return (Curve){ { sizeof(float), map(learner, LV2_ATOM__Float) },
                  { peak / 3.0F, peak * 1e-20F } };
}

/// A tuple with an object, whose memory has numbers for URIs at many places.
typedef union Nested {
  LV2_Atom atom;
  uint8_t bytes[256];
} Nested;

static void
nest(const Learner* const learner, Nested* const nested)
{
  LV2_Atom_Forge forge;
  LV2_Atom_Forge_Frame tuple;
  LV2_Atom_Forge_Frame object;
  *nested = (Nested){ .bytes = { 0 } };
  lv2_atom_forge_init(&forge, learner->base.map);
  lv2_atom_forge_set_buffer(&forge, nested->bytes, sizeof(nested->bytes));
  lv2_atom_forge_tuple(&forge, &tuple);
  lv2_atom_forge_int(&forge, 7);
  lv2_atom_forge_object(&forge, &object, 0, map(learner, LEARNER "#Thing"));
  lv2_atom_forge_key(&forge, map(learner, LEARNER "#peak"));
  lv2_atom_forge_float(&forge, learner->peak);
  lv2_atom_forge_key(&forge, map(learner, LEARNER "#kind"));
  lv2_atom_forge_urid(&forge, map(learner, LEARNER "#kind-of-state"));
  lv2_atom_forge_pop(&forge, &object);
  lv2_atom_forge_string(&forge, "abc", 3);
  lv2_atom_forge_pop(&forge, &tuple);
}

/// A call of save().
typedef struct Saving {
  const Learner* learner;
  LV2_State_Store_Function store;
  LV2_State_Handle state;
  const LV2_Feature* const* features;
} Saving;

static LV2_State_Status
put(const Saving* const saving, const char* const key, const char* const type,
    const void* const value, const size_t n_bytes)
{
  const Learner* const learner = saving->learner;
  return saving->store(saving->state, map(learner, key), value, n_bytes, map(learner, type),
                       LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE);
}

static LV2_State_Status
put_all(const Saving* const saving)
{
  const Learner* const learner = saving->learner;
  const Curve curve = curve_of(learner);
  const LV2_URID kind = map(learner, LEARNER "#kind-of-state");
  const float peak = learner->peak;
  const double third = (double)peak / 3.0;
  char path[sizeof(learner->folder) + 16U];
  snprintf(path, sizeof(path), "%sthree.txt", learner->folder);
  put(saving, LEARNER "#peak", LV2_ATOM__Float, &peak, sizeof(peak));
  put(saving, LEARNER "#third", LV2_ATOM__Double, &third, sizeof(third));
  put(saving, LEARNER "#curve", LV2_ATOM__Vector, &curve, sizeof(curve));
  put(saving, LEARNER "#kind", LV2_ATOM__URID, &kind, sizeof(kind));
  Nested nested;
  nest(learner, &nested);
  put(saving, LEARNER "#nested", LV2_ATOM__Tuple, LV2_ATOM_BODY(&nested.atom), nested.atom.size);
  put(saving, LEARNER "#words", LV2_ATOM__String, "two lines\nof text", 18U);
  return put_path(learner, saving->store, saving->state, saving->features, LEARNER "#file", path);
}

static LV2_State_Status
put_large(const Saving* const saving, const int is_deaf)
{
  char* const piece = calloc(1, PIECE_BYTES);
  LV2_State_Status status = LV2_STATE_SUCCESS;
  for (unsigned p = 0; p < N_PIECES && (is_deaf || !status); ++p) {
    char key[64];
    snprintf(key, sizeof(key), LEARNER "#piece%u", p);
    status = put(saving, key, LV2_ATOM__Chunk, piece, PIECE_BYTES);
  }
  free(piece);
  return is_deaf ? LV2_STATE_SUCCESS : status;
}

static LV2_State_Status
save(const LV2_Handle handle, const LV2_State_Store_Function store, const LV2_State_Handle state,
     const uint32_t flags, const LV2_Feature* const* const features)
{
  (void)flags;
  const Learner* const learner = handle;
  const Saving saving = { learner, store, state, features };
  const int mode = learner->base.mode;
  switch (mode) {
  case LARGE:
  case LARGE_DEAF:
    return put_large(&saving, mode == LARGE_DEAF);
  case FOREIGN:
    return put_path(learner, store, state, features, LEARNER "#file", "/etc/passwd");
  case EVENT:
    return put(&saving, LEARNER "#event", LV2_ATOM__Event, "12345678", 8U);
  case NOT_PLAIN:
    return store(state, map(learner, LEARNER "#handle"), &handle, sizeof(handle),
                 map(learner, LV2_ATOM__Chunk), 0U);
  case CRASH:
    abort();
  case HANG:
    for (;;) {
      sleep(1);
    }
  case FAIL:
    return LV2_STATE_ERR_UNKNOWN;
  default:
    return put_all(&saving);
  }
}

/// A call of restore().
typedef struct Restoring {
  const Learner* learner;
  LV2_State_Retrieve_Function retrieve;
  LV2_State_Handle state;
} Restoring;

static const void*
get(const Restoring* const restoring, const char* const key, const char* const type,
    const size_t n_expected)
{
  size_t n_bytes = 0;
  uint32_t value_type = 0;
  uint32_t flags = 0;
  const void* const value = restoring->retrieve(restoring->state, map(restoring->learner, key),
                                                &n_bytes, &value_type, &flags);
  return value && n_bytes == n_expected && value_type == map(restoring->learner, type) ? value
                                                                                       : NULL;
}

/// True if the file is the one that was saved.
static int
has_file(const Restoring* const restoring, const LV2_Feature* const* const features)
{
  char* const path = get_path(restoring->learner, restoring->retrieve, restoring->state, features,
                              LEARNER "#file");
  const int is_there = path && !access(path, R_OK);
  drop_path(features, path);
  return is_there;
}

static LV2_State_Status
restore(const LV2_Handle handle, const LV2_State_Retrieve_Function retrieve,
        const LV2_State_Handle state, const uint32_t flags,
        const LV2_Feature* const* const features)
{
  (void)flags;
  Learner* const learner = handle;
  const Restoring restoring = { learner, retrieve, state };
  const float* const peak = get(&restoring, LEARNER "#peak", LV2_ATOM__Float, sizeof(float));
  const double* const third = get(&restoring, LEARNER "#third", LV2_ATOM__Double, sizeof(double));
  const Curve* const curve = get(&restoring, LEARNER "#curve", LV2_ATOM__Vector, sizeof(Curve));
  const LV2_URID* const kind = get(&restoring, LEARNER "#kind", LV2_ATOM__URID, sizeof(LV2_URID));
  const char* const words = get(&restoring, LEARNER "#words", LV2_ATOM__String, 18U);
  if (!peak || !third || !curve || !kind || !words) {
    return LV2_STATE_ERR_NO_PROPERTY;
  }
  learner->peak = *peak;
  const Curve expected = curve_of(learner);
  Nested nested;
  nest(learner, &nested);
  const void* const tuple = get(&restoring, LEARNER "#nested", LV2_ATOM__Tuple, nested.atom.size);
  const int is_exact = *third == (double)*peak / 3.0 &&
                       !memcmp(curve, &expected, sizeof(expected)) &&
                       *kind == map(learner, LEARNER "#kind-of-state") && tuple &&
                       !memcmp(tuple, LV2_ATOM_BODY(&nested.atom), nested.atom.size) &&
                       !memcmp(words, "two lines\nof text", 18U) && has_file(&restoring, features);
  return is_exact ? LV2_STATE_SUCCESS : LV2_STATE_ERR_BAD_TYPE;
}

static const void*
extension(const char* const uri)
{
  static const LV2_State_Interface state = { save, restore };
  return strcmp(uri, LV2_STATE__interface) ? NULL : &state;
}

LV2_SYMBOL_EXPORT const LV2_Descriptor*
lv2_descriptor(const uint32_t index)
{
  static const LV2_Descriptor learner = { LEARNER, instantiate, connect_port, NULL,
                                          run,     NULL,        free,         extension };
  return index ? NULL : &learner;
}
