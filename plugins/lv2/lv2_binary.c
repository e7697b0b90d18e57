// SPDX-License-Identifier: GPL-3.0-or-later
// Loads binaries.  They stay loaded for the life of the process, because many plugins leave threads
// or destructors behind that need their code.

#include "lv2_binary.h"

#include "engine/base/recorder.h"

#include <dlfcn.h>
#include <string.h>

static const LV2_Descriptor*
find_in_binary(void* const library, const char* const id)
{
  LV2_Descriptor_Function entry = NULL;
  *(void**)&entry = dlsym(library, "lv2_descriptor");
  const LV2_Descriptor* descriptor = NULL;
  for (uint32_t i = 0; entry && (descriptor = entry(i)); ++i) {
    if (!strcmp(descriptor->URI, id)) {
      break;
    }
  }
  return descriptor;
}

static const LV2_Descriptor*
find_in_list(const LV2_Lib_Descriptor* const list, const char* const id)
{
  const LV2_Descriptor* descriptor = NULL;
  for (uint32_t i = 0; list && (descriptor = list->get_plugin(list->handle, i)); ++i) {
    if (!strcmp(descriptor->URI, id)) {
      break;
    }
  }
  return descriptor;
}

Status
binary_open(Lv2Binary* const binary, const Plugin* const plugin, const char* const folder,
            const LV2_Feature* const* const features, Error* const error)
{
  void* const library = dlopen(plugin->binary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    return error_set(error, STATUS_FILE, "lv2 %s cannot be loaded: %s", plugin->origin.id,
                     dlerror());
  }
  LV2_Lib_Descriptor_Function entry = NULL;
  *(void**)&entry = dlsym(library, "lv2_lib_descriptor");
  void* const plain_entry = dlsym(library, "lv2_descriptor");
  recorder_add_code(plain_entry ? plain_entry : *(void**)&entry);
  *binary = (Lv2Binary){ .descriptor = find_in_binary(library, plugin->origin.id) };
  if (!binary->descriptor && entry) {
    binary->list = entry(folder, features);
    binary->descriptor = find_in_list(binary->list, plugin->origin.id);
  }
  if (!binary->descriptor) {
    binary_close(binary);
    return error_set(error, STATUS_FILE, "%s has no plugin %s, although its description says so",
                     plugin->binary, plugin->origin.id);
  }
  return STATUS_OK;
}

void
binary_close(Lv2Binary* const binary)
{
  if (binary->list && binary->list->cleanup) {
    binary->list->cleanup(binary->list->handle);
  }
  *binary = (Lv2Binary){ .descriptor = NULL };
}
