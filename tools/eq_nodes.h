// SPDX-License-Identifier: GPL-3.0-or-later
/// The state of an import of equaliser settings: the nodes so far, and messages about the current
/// line.
#ifndef WARPRACK_TOOLS_EQ_NODES_H
#define WARPRACK_TOOLS_EQ_NODES_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EQ_MAX_CHANNELS 64U
#define EQ_ALL_CHANNELS UINT64_MAX

typedef struct EqNode {
  uint64_t channels; ///< Channels of the node, one bit each
  char name[24];
  char* text; ///< Effect and values
} EqNode;

typedef struct EqFile {
  const char* name;
  void (*note)(void* context, const char* text); ///< The EqNote of eq_file.h
  void* context;
  Error* error;
  unsigned line_number;
  char decimal;
  bool is_rew;         ///< The file begins with REW's header, which is not in the form of
                       ///< statements
  bool has_statement;  ///< A statement was read, so the header is over
  uint64_t channels;   ///< Of the following statements
  uint32_t n_channels; ///< Largest named channel, or 0
  double preamps_db[EQ_MAX_CHANNELS];
  EqNode* nodes;
  size_t n_nodes;
  unsigned n_filters, n_others; ///< Numbers of lines so far, for the names of nodes
  char prefix[16];              ///< Name prefix of the nodes of this statement
  unsigned n_parts;             ///< Number of nodes of this statement so far
} EqFile;

typedef struct EqValue {
  const char* id; ///< NULL: none
  double value;
} EqValue;

/// Set file->error, with the file's name and line; STATUS_FILE.
Status PRINTF_LIKE(2, 3) eq_refuse(const EqFile* file, const char* format, ...);

/// Report something about the current line that is not an error.
void PRINTF_LIKE(2, 3) eq_report(const EqFile* file, const char* format, ...);

/// Round a computed value to six digits, for readability.
double eq_rounded(double value);

/// Begin a statement whose nodes get names from `word`: f1, f1_2 ...
void eq_name_nodes(EqFile* file, const char* word);

/// Add a node.  Takes ownership of `text`; NULL: out of memory.
Status eq_add_node(EqFile* file, char* text);

/// Add an effect with values; values without an id are left out.
Status eq_add_effect(EqFile* file, const char* effect, const EqValue values[static 3]);

/// Add an effect that has a frequency, a gain and a Q.
Status
eq_add_section(EqFile* file, const char* effect, double frequency_hz, double gain_db, double q);

/// Print the nodes as a rack; the caller frees the text.
Status eq_print_rack(const EqFile* file, char** rack);

#endif
