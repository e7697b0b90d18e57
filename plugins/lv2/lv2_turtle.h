// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Questions to lilv's model of all Turtle files: one world per process, made by turtle_prepare().
   No function runs code of a plugin.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_TURTLE_H
#define WARPRACK_PLUGINS_LV2_LV2_TURTLE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <lilv/lilv.h>
#include <stdbool.h>
#include <stdint.h>

/// Make the world from the manifests of all bundles, as PluginFormat::prepare. [scan]
NODISCARD Status turtle_prepare(const char* const* bundles, uint32_t n_bundles,
                                void (*announce)(void* context, const char* bundle), void* context,
                                Error* error);

/// The world, or NULL before turtle_prepare(). [scan]
LilvWorld* turtle_world(void);

/// The URI of a bundle's folder.  The caller frees it; NULL if out of memory. [scan]
LilvNode* turtle_bundle_uri(const char* bundle);

/// All objects of a subject and a predicate, in no certain order.  The caller frees them; NULL if
/// there are none, which lilv's functions accept. [scan]
LilvNodes* turtle_objects(const LilvNode* subject, const char* predicate);

/// The first of turtle_objects() in the order of their texts, or NULL.  The caller frees it. [scan]
LilvNode* turtle_object(const LilvNode* subject, const char* predicate);

/// True if the model has this statement; `object` is a URI, NULL: any object. [scan]
bool turtle_has(const LilvNode* subject, const char* predicate, const char* object);

/// A printable copy of a text in the arena; "" for NULL, and if out of memory. [scan]
const char* turtle_copy(Arena* arena, const char* text);

/// The text of turtle_object(); "" if there is none. [scan]
const char* turtle_text(Arena* arena, const LilvNode* subject, const char* predicate);

/// Compare two LilvNode* by their texts, for qsort(). [scan]
int turtle_compare(const void* a, const void* b);

/// The number of the literal turtle_object(); 0 or 1 of a truth value.  False if it is none, or not
/// finite. [scan]
bool turtle_number(const LilvNode* subject, const char* predicate, double* number);

/// True if a file has a statement about this subject.  The last two files stay in memory. [scan]
bool turtle_file_has(const char* file_uri, const LilvNode* subject, const char* predicate);

/// STATUS_FILE with the fault and its line if a file is missing or is no Turtle. [scan]
NODISCARD Status turtle_check(const char* file_uri, Error* error);

#endif
