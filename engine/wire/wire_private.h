// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the files of the wire: wire.c (sockets, queue), wire_codec.c (messages),
   wire_to_worker.c and wire_to_server.c (their structs), wire_coder.c (fields).

   A Coder visits the fields of a message in one order, and either writes or reads them: one
   function for each struct does both, and checks the same ranges in both directions.  After the
   first failure all calls return without effect; `error` has the reason.
*/
#ifndef WARPRACK_ENGINE_WIRE_WIRE_PRIVATE_H
#define WARPRACK_ENGINE_WIRE_WIRE_PRIVATE_H

#include "wire.h"

#include <stddef.h>

#define PLACEMENT_BYTES 24U // an EnginePlacement: six words

typedef struct Coder {
  bool writes;
  unsigned char* out; ///< Writing: [room], grows
  const unsigned char* in;
  uint32_t at;    ///< Bytes written or read
  uint32_t bytes; ///< Writing: size of `out`.  Reading: size of `in`
  uint32_t max;   ///< Writing: limit of the message's bytes
  Error error;
} Coder;

/// Record a failure, unless one is recorded.
void coder_fail(Coder* coder, Status status, const char* format, ...) PRINTF_LIKE(3, 4);

/// Code n bytes.  Returns false if fewer are left to read, or if they exceed `max`.
bool coder_bytes(Coder* coder, void* bytes, size_t n);

/// Number of bytes left to read.
uint32_t coder_left(const Coder* coder);

// Fields.  Error texts use `name`.
void coder_u32(Coder* coder, uint32_t* value, uint32_t min, uint32_t max, const char* name);
void coder_u64(Coder* coder, uint64_t* value);
void coder_bool(Coder* coder, bool* value, const char* name);
void coder_double(Coder* coder, double* value, double min, double max, const char* name);

/// Code a printable text in text[n_bytes].  When writing, replace invalid UTF-8 and control
/// characters by "?".
void coder_text(Coder* coder, char* text, size_t n_bytes, const char* name);

/// Code a text of any bytes except zeros; an empty text is an error.
void coder_path(Coder* coder, char* path, size_t n_bytes, const char* name);

/// Reading: allocate n + 1 zeroed elements of `bytes` each, which the caller frees.  Fails if fewer
/// than n * at_least bytes are left to read.  NULL after a failure.
void* coder_array(Coder* coder, uint32_t n, size_t bytes, uint32_t at_least);

// ---- structs ----

void wire_code_config(Coder* coder, WireConfig* config); // without the descriptor
void wire_code_arm(Coder* coder, WireArm* arm);          // likewise
void wire_code_edit(Coder* coder, WireEdit* edit);
void wire_code_set(Coder* coder, WireSet* set);
void wire_code_save(Coder* coder, WireSave* save);
void wire_code_facts(Coder* coder, WorkerFacts* facts);
void wire_code_status(Coder* coder, WorkerStatus* status);
void wire_code_failed(Coder* coder, Error* error);
void wire_code_armed(Coder* coder, WireArmed* armed);
void wire_code_reply(Coder* coder, WireReply* reply);
void wire_code_saved(Coder* coder, WireSaved* saved);
void wire_code_placements(Coder* coder, WirePlacements* placements);
void wire_code_lost(Coder* coder, EngineNodeLoss* loss);

// ---- kinds ----

/// The place of the descriptor in a message of a kind that has one; else NULL.
int* wire_descriptor(WireMessage* message);

/// Get the largest body of a kind that `side` receives; false for any other kind.
bool wire_kind_bytes(WireSide side, uint32_t kind, uint32_t* max_bytes);

/// The name of a kind.
const char* wire_kind_name(uint32_t kind);

#endif
