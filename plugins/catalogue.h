// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The plugins of this machine, as the last scan found them.

   A catalogue is a text file, $XDG_CACHE_HOME/warprack/plugins-<machine>.txt, that `warprack scan`
   writes whole.  If a variable such as LV2_PATH names other folders, the file has a hash of these
   variables in its name: each choice of folders has a catalogue of its own.  Every process has at
   most one: the server reads the file when it first searches for a plugin, and hands the same text
   to its workers, so that both know the same plugins.  Only an index is made of it; a plugin is
   read when its effect is first asked for (fx_find_plugin()), and stays for the life of the
   process, also when the catalogue is exchanged for a new one.

       warprack-plugins  1  <version of the program, which describes plugins in its own way>
       bundle  lv2  /usr/lib/lv2/zam.lv2  <key>  <fault, or empty>
       plugin  lv2  urn:zamaudio:ZamTube  ZamTube  ...
       binary  ...
       port    ...
       preset  ...

   After the first line come the bundles, and after each bundle its plugins as plugin_write() writes
   them.  fields.h has the syntax of a line.  An unknown version is no catalogue.
*/
#ifndef WARPRACK_PLUGINS_CATALOGUE_H
#define WARPRACK_PLUGINS_CATALOGUE_H

#include "plugin.h"

#define CATALOGUE_START     "warprack-plugins\t2\t" WARPRACK_VERSION "\n" // the first line
#define CATALOGUE_MAX_BYTES (256U << 20U)

typedef struct Catalogue Catalogue;

/// A bundle of the catalogue.
typedef struct CatalogueBundle {
  const char* format;
  const char* path;
  uint64_t key;      ///< catalogue_key() when it was described
  const char* fault; ///< Why it could not be described: "crashed (SIGSEGV)"; "" if it could
  const char* text;  ///< The text of its plugins in the file, not terminated
  size_t n_bytes;
} CatalogueBundle;

/// A plugin of the catalogue, before it is read.
typedef struct CatalogueEntry {
  const char* format;
  const char* id;
  const char* name;
  const char* short_name; ///< See plugin_short_name()
  const char* maker;      ///< As Plugin::maker
  const char* category;   ///< As Plugin::category
  const char* fault;      ///< As Plugin::fault
  uint32_t bundle;        ///< Place in the bundles
  bool has_report;        ///< It was probed, see report.h
} CatalogueEntry;

/// Write a bundle: its line, then its text.  CATALOGUE_START goes before the first one. [any, not
/// rt]
void catalogue_write_bundle(TextBuffer* text, const CatalogueBundle* bundle);

/**
   Read a catalogue from text, which must be valid as a whole in its bundles and first lines of
   plugins; other lines are checked when a plugin is read.

   @param text From malloc().  The catalogue frees it; on error, this call does.
   @return STATUS_FILE with the line and its fault, STATUS_LIMIT, STATUS_NO_MEM.
   [any, not rt]
*/
NODISCARD Status catalogue_new(char* text, size_t n_bytes, Catalogue** out, Error* error);

/// Read a file of this user or of root, which others cannot write.  STATUS_NOT_FOUND if there is
/// none. [any, not rt]
NODISCARD Status catalogue_read(const char* path, Catalogue** out, Error* error);

/// Free a catalogue that was not given to catalogue_use().  Accepts NULL. [any]
void catalogue_free(Catalogue* catalogue);

const CatalogueBundle* catalogue_bundles(const Catalogue* catalogue, uint32_t* n_bundles);
const CatalogueEntry* catalogue_entries(const Catalogue* catalogue, uint32_t* n_entries);

/// The whole text, as it was read. [any]
const char* catalogue_text(const Catalogue* catalogue, size_t* n_bytes);

/// The description of an entry, as plugin_read() reads it, without its report; not terminated.
/// [any]
const char* catalogue_description(const Catalogue* catalogue, uint32_t entry, size_t* n_bytes);

/**
   Write a catalogue whose plugins have other reports.

   @param reports [n_entries] lines that replace the report of an entry; NULL: it stays as it is.
   [any, not rt]
*/
void
catalogue_write_reports(TextBuffer* text, const Catalogue* catalogue, const char* const* reports);

/// Write a catalogue whose plugins also have the reports of another one, if their descriptions are
/// the same there; a plugin's own report stays.  STATUS_NO_MEM. [any, not rt]
NODISCARD Status catalogue_keep_reports(TextBuffer* text, const Catalogue* catalogue,
                                        const Catalogue* older);

/// Make this the catalogue of the process, which owns it from now on, and free the earlier one.
/// Effects that were found in that stay valid; an unchanged plugin keeps its effect.  NULL: there
/// are no plugins.  Without a call, the first search reads the user's file. [any, not rt]
void catalogue_use(Catalogue* catalogue);

/// As catalogue_use(), for a worker, which plays what its server has: a plugin that was only probed
/// since, so that its report is another, keeps its effect, as in catalogue_exchange().  `catalogue`
/// is owned by this call, also on error: STATUS_NO_MEM; the old catalogue stays then.
/// [any, not rt]
NODISCARD Status catalogue_follow(Catalogue* catalogue, Error* error);

/// Provides the catalogue of the process: `*out` becomes its property.  Called once, by the first
/// search for a plugin.  Searches of other threads wait meanwhile.
typedef Status (*CatalogueProvider)(void* context, Catalogue** out, Error* error);

/// Set the source of the catalogue for the first search, instead of the user's file. [main]
void catalogue_set_provider(CatalogueProvider provide, void* context);

/// What another catalogue changes for the plugins that racks of this process have taken.
typedef struct CatalogueChange {
  uint32_t n_changed; ///< Their description or the file of their code is another
  uint32_t n_others;  ///< Of these, with another effect: racks that hold the old one keep it
  uint32_t n_gone;    ///< The new catalogue lacks them
  char names[160];    ///< Of those with another effect, for people
} CatalogueChange;

/// Hands a catalogue to other processes.
typedef Status (*CatalogueShare)(void* context, const Catalogue* catalogue,
                                 const CatalogueChange* change, Error* error);

/**
   As catalogue_use(), for a server whose workers have the same catalogue: no search happens between
   the call of `share` and the exchange.  The plugins that racks have taken stay: those that
   the new catalogue lacks, as they were; and those of which only the file of the code has changed
   keep their effect, because that code runs in the workers.

   @param newer Owned by this call, also on error.
   @return The error of `share`, or STATUS_NO_MEM; then the old catalogue stays, with the effects as
   they were.
   [any, not rt]
*/
NODISCARD Status catalogue_exchange(Catalogue* newer, CatalogueShare share, void* context,
                                    CatalogueChange* change, Error* error);

/// For a server that runs: from now on no search asks the provider (catalogue_set_provider()).  The
/// first search without a catalogue reads the user's file (catalogue_path()), and calls `share`
/// before this process uses the file.  The search returns the error of either. [any, not rt]
void catalogue_share_on_search(CatalogueShare share, void* context);

/// The catalogue of the process, or NULL; valid until the next catalogue_use() or
/// catalogue_exchange(). [any]
const Catalogue* catalogue_current(void);

/// Look at the catalogue of the process, as a search finds it, or NULL; nobody exchanges it
/// meanwhile.  `visit` must not search. [any but rt]
void catalogue_visit(void (*visit)(void* context, const Catalogue* catalogue), void* context);

/// As fx_find_plugin(), but also returns plugins with a fault (Plugin::fault), for lists.
/// [any, not rt]
NODISCARD Status catalogue_find_plugin(const char* format, const char* reference,
                                       const Plugin** plugin, Error* error);

/// True in tests that must not depend on the plugins of the machine (WARPRACK_USUAL_PLUGINS=none):
/// a scan leaves out the usual folders of all formats. [any]
bool catalogue_hides_usual_folders(void);

/// Path of the user's file.  False if there is neither XDG_CACHE_HOME nor HOME. [any]
bool catalogue_path(char* path, size_t n_bytes);

/// Identifies the content of a bundle: a hash of names, inodes, sizes and times of its files, also
/// of those in four levels of folders.  0 if there is no such bundle. [any, not rt]
uint64_t catalogue_key(const char* bundle);

#endif
