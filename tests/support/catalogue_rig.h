// SPDX-License-Identifier: GPL-3.0-or-later
/// Catalogues of plugins that have descriptions only, and searches in the one of the process.
#ifndef WARPRACK_TESTS_CATALOGUE_RIG_H
#define WARPRACK_TESTS_CATALOGUE_RIG_H

#include "plugin_sample.h"

#include "plugins/catalogue.h"

extern const char* catalogue_rig_format; ///< One of this build
extern Error catalogue_rig_fault;        ///< Of the last search, and for other calls

/// Set catalogue_rig_format: before each test.
void catalogue_rig_begin(void);

/// The first line of a catalogue.
TextBuffer catalogue_rig_begin_text(void);

/// Add a bundle with one plugin.
void catalogue_rig_add(TextBuffer* text, const char* of_format, const char* id,
                       const char* plugin_fault);

/// A catalogue of the text, which is freed.
Catalogue* catalogue_rig_of(TextBuffer* text);

/// Use a catalogue with two plugins that have a short name of their own, and two that share one.
void catalogue_rig_use_some(void);

/// A catalogue of one plugin, "urn:test:Tube", with a number that tells the file of its code.
Catalogue* catalogue_rig_tube(uint64_t changed_ns, const char* name);

/// Find a plugin, as racks do; an error fails the test.
const FxInfo* catalogue_rig_find(const char* reference);

/// The result of a search.
Status catalogue_rig_search(const char* reference);

#endif
