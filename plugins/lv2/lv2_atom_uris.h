// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The numbers for URIs in the memory of an atom: found and replaced, because they differ from
   process to process.  Sizes are checked, so that the memory may come from anywhere.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_ATOM_URIS_H
#define WARPRACK_PLUGINS_LV2_LV2_ATOM_URIS_H

#include <lv2/urid/urid.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct AtomUris {
  void* context;
  /// Replace `urid`, which is not 0, and tell the number of its URI in this process.  False: there
  /// is no such URI.
  bool (*exchange)(void* context, LV2_URID* urid, LV2_URID* here);
} AtomUris;

/**
   Replace all numbers for URIs in the body of an atom.

   @param type Of the atom, a number of this process.
   @return False if the body has a wrong size or nests too deep, or has a number without a URI, or
   if numbers may be at places that are not known.  The body is partly changed then.
   [builder]
*/
bool atom_uris_exchange(const AtomUris* uris, LV2_URID type, void* body, size_t n_bytes);

#endif
