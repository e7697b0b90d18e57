// SPDX-License-Identifier: GPL-3.0-or-later
// An LV2 plugin that learns the peak of its input, and multiplies the input by one more than that.
// Its state is a file with that peak, which it writes while it is saved (state:makePath).  "Mode"
// says how it misbehaves then.  No code of warprack.

#include "stateful.h"

#include <lv2/core/lv2.h>
#include <lv2/state/state.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAKER     "urn:warprack:taker"
#define NAME      "takes/first.Raw"
#define MAX_BYTES ((off_t)20 << 20) // of a file that is too large

enum { IN, OUT, MODE };

/// What save() does.  EARLY: it has asked for the file when it was instantiated.
enum { GOOD, EARLY, OUTSIDE, ABSOLUTE, LARGE, LINK, FOLDER_LINK, PIPE, NOTHING, MANY };

typedef struct Taker {
  Stateful base;
  _Atomic float peak;
  char* early; ///< NULL: the host makes no files
} Taker;

static char*
make_path(const LV2_Feature* const* const features, const char* const name)
{
  const LV2_State_Make_Path* const makes = feature(features, LV2_STATE__makePath);
  return makes ? makes->path(makes->handle, name) : NULL;
}

static LV2_Handle
instantiate(const LV2_Descriptor* const descriptor, const double rate, const char* const folder,
            const LV2_Feature* const* const features)
{
  (void)descriptor;
  (void)rate;
  (void)folder;
  Taker* const taker = calloc(1, sizeof(*taker));
  taker->base.map = feature(features, LV2_URID__map);
  taker->early = make_path(features, "early");
  return taker;
}

static void
cleanup(const LV2_Handle handle)
{
  free(((Taker*)handle)->early);
  free(handle);
}

static void
run(const LV2_Handle handle, const uint32_t n_frames)
{
  Taker* const taker = handle;
  taker->base.mode = (int)*taker->base.ports[MODE];
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float sample = taker->base.ports[IN][i];
    taker->peak = fmaxf(taker->peak, fabsf(sample));
    taker->base.ports[OUT][i] = sample + sample * taker->peak;
  }
}

/// Write the file, or make a link or a pipe in its place.
static void
write_file(const Taker* const taker, const int mode, const char* const path)
{
  const float peak = taker->peak;
  FILE* const file = mode <= LARGE || mode >= MANY ? fopen(path, "w") : NULL;
  if (file) {
    (void)!fwrite(&peak, sizeof(peak), 1, file);
    fclose(file);
  }
  if (mode == LARGE) {
    (void)!truncate(path, MAX_BYTES);
  } else if (mode == LINK) {
    (void)!symlink("/etc/passwd", path);
  } else if (mode == PIPE) {
    (void)!mkfifo(path, 0600);
  }
}

/// A file below a folder that is a link.
static char*
path_through_link(const LV2_Feature* const* const features)
{
  char* const path = make_path(features, "takes/other/x");
  char* const folder = strdup(path);
  *strrchr(folder, '/') = '\0';
  rmdir(folder);
  (void)!symlink("/etc", folder);
  free(folder);
  free(path);
  return make_path(features, "takes/other/passwd");
}

static char*
path_of(const Taker* const taker, const int mode, const LV2_Feature* const* const features)
{
  switch (mode) {
  case EARLY:
    return strdup(taker->early);
  case OUTSIDE:
    return make_path(features, "takes/../../outside");
  case ABSOLUTE:
    return make_path(features, "/tmp/warprack-taker");
  case FOLDER_LINK:
    return path_through_link(features);
  default:
    return make_path(features, NAME);
  }
}

static LV2_State_Status
save(const LV2_Handle handle, const LV2_State_Store_Function store, const LV2_State_Handle state,
     const uint32_t flags, const LV2_Feature* const* const features)
{
  (void)flags;
  const Taker* const taker = handle;
  const int mode = taker->base.mode;
  char* const path = path_of(taker, mode, features);
  if (!path) {
    return LV2_STATE_ERR_NO_FEATURE;
  }
  const LV2_State_Status status = put_path(taker, store, state, features, TAKER "#take", path);
  unlink(path);
  write_file(taker, mode, path); // after its name: the host must not read it before
  free(path);
  for (unsigned f = 0; mode == MANY && f < 100U; ++f) {
    char name[32];
    snprintf(name, sizeof(name), "%u", f);
    char* const other = make_path(features, name);
    FILE* const file = fopen(other, "w");
    fprintf(file, "%u", f);
    fclose(file);
    put_path(taker, store, state, features, TAKER "#take", other);
    free(other);
  }
  return status;
}

static LV2_State_Status
restore(const LV2_Handle handle, const LV2_State_Retrieve_Function retrieve,
        const LV2_State_Handle state, const uint32_t flags,
        const LV2_Feature* const* const features)
{
  (void)flags;
  Taker* const taker = handle;
  char* const path = get_path(taker, retrieve, state, features, TAKER "#take");
  FILE* const file = path ? fopen(path, "r") : NULL;
  float peak = taker->peak;
  const int is_read = file && fread(&peak, sizeof(peak), 1, file) == 1;
  taker->peak = peak;
  if (file) {
    fclose(file);
  }
  drop_path(features, path);
  return is_read ? LV2_STATE_SUCCESS : LV2_STATE_ERR_NO_PROPERTY;
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
  static const LV2_Descriptor taker = { TAKER, instantiate, connect_port, NULL,
                                        run,   NULL,        cleanup,      extension };
  return index ? NULL : &taker;
}
