// SPDX-License-Identifier: GPL-3.0-or-later
// Loads libraries of LADSPA plugins.

#include "ladspa_library.h"

#include "engine/base/recorder.h"

#include <dlfcn.h>
#include <string.h>

Status
ladspa_library_open(const char* const path, LADSPA_Descriptor_Function* const list,
                    Error* const error)
{
  // A library that is loaded already is not loaded again.
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const words = dlerror();
    return error_set(error, STATUS_FILE, "%s cannot be loaded: %s", path, words ? words : "");
  }
  void* const address = dlsym(library, "ladspa_descriptor");
  if (!address) {
    return error_set(error, STATUS_FILE, "%s is no LADSPA library: it has no ladspa_descriptor()",
                     path);
  }
  recorder_add_code(address);
  memcpy(list, &address, sizeof(address));
  return STATUS_OK;
}

const LADSPA_Descriptor*
ladspa_library_find(const LADSPA_Descriptor_Function list, const char* const label)
{
  const LADSPA_Descriptor* ladspa = NULL;
  for (unsigned long i = 0; i < LADSPA_MAX_PLUGINS && (ladspa = list(i)); ++i) {
    if (ladspa->Label && !strcmp(ladspa->Label, label)) {
      return ladspa;
    }
  }
  return NULL;
}
