// SPDX-License-Identifier: GPL-3.0-or-later
/// Shared by catalogue.c (the text and its index), catalogue_find.c (the catalogue of the process)
/// and catalogue_known.c (the plugins that the process has read).
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

/// What the scan wrote: a probe adds the report later.
static inline CatalogueText
without_report(const CatalogueText description)
{
  return (CatalogueText){ .at = description.at,
                          .n_bytes = description.n_bytes - description.n_report_bytes };
}

struct Catalogue {
  char* text;
  size_t n_bytes;
  Arena arena;              ///< The texts of the index
  CatalogueBundle* bundles; ///< [n_bundles]
  uint32_t n_bundles;
  CatalogueEntry* entries;     ///< [n_entries]
  CatalogueText* descriptions; ///< [n_entries] for plugin_read()
  uint32_t n_entries;
};

/// The plugin with this id; NULL: none.
const CatalogueEntry*
catalogue_find_id(const Catalogue* catalogue, const char* format, const char* id);

/// The plugin with this description, read if it is the first time; `for_rack`: a rack takes its
/// effect. [lock of catalogue_find.c held]
NODISCARD Status known_plugin(CatalogueText description, bool for_rack, const Plugin** plugin,
                              Error* error);

/// Let the known plugins that differ at most in the report from their description in a new
/// catalogue stand for it, from known_plugins_end() on.  STATUS_NO_MEM. [lock of catalogue_find.c
/// held]
NODISCARD Status known_plugins_keep(const Catalogue* catalogue, Error* error);

/**
   Compare the known plugins that racks have taken with a new catalogue.  A plugin that the
   catalogue lacks is added to it as it was; one that differs in the file of its code only keeps its
   effect; any other one that differs gets another effect, and the old one is outdated.  All this
   happens in known_plugins_end().

   @param catalogue [in,out] Owned by the caller; may be replaced by another one.
   @return STATUS_NO_MEM.
   [lock of catalogue_find.c held]
*/
NODISCARD Status known_plugins_renew(Catalogue** catalogue, CatalogueChange* change, Error* error);

/// Make the changes that one of the two functions above has prepared, or forget them. [lock of
/// catalogue_find.c held]
void known_plugins_end(bool is_used);

#endif
