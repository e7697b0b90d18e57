// SPDX-License-Identifier: GPL-3.0-or-later
/// Shared by catalogue.c (the text and its index) and catalogue_find.c (the plugins of the
/// process).
#ifndef WARPRACK_PLUGINS_CATALOGUE_PRIVATE_H
#define WARPRACK_PLUGINS_CATALOGUE_PRIVATE_H

#include "catalogue.h"

#include "engine/base/arena.h"

/// The description of a plugin, a part of the catalogue's text.
typedef struct CatalogueText {
  const char* at;
  size_t n_bytes;
  size_t n_report_bytes; ///< Of its last line, if that is a report; else 0
} CatalogueText;

struct Catalogue {
  char* text;
  size_t n_bytes;
  Arena arena; ///< The index
  CatalogueBundle* bundles;
  uint32_t n_bundles;
  CatalogueEntry* entries;
  CatalogueText* descriptions; ///< [n_entries] for plugin_read()
  uint32_t n_entries;
};

#endif
