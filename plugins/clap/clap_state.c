// SPDX-License-Identifier: GPL-3.0-or-later
// Streams for the states of CLAP plugins.

#include "clap_state.h"

#include <clap/ext/state.h>

#include <string.h>

static const clap_plugin_state_t*
state_calls(const clap_plugin_t* const clap)
{
  const clap_plugin_state_t* const calls = clap->get_extension(clap, CLAP_EXT_STATE);
  return calls && calls->save && calls->load ? calls : NULL;
}

bool
clap_state_exists(const clap_plugin_t* const clap)
{
  return state_calls(clap);
}

// ---- save ----

typedef struct Output {
  TextBuffer* part;
  bool is_full;
} Output;

static int64_t
on_write(const clap_ostream_t* const stream, const void* const bytes, const uint64_t n_bytes)
{
  Output* const output = stream->ctx;
  output->is_full = output->is_full || n_bytes > FX_STATE_MAX_BYTES ||
                    !state_append(output->part, bytes, (size_t)n_bytes);
  return output->is_full ? -1 : (int64_t)n_bytes;
}

Status
clap_state_save(const clap_plugin_t* const clap, TextBuffer* const part, Error* const error)
{
  const clap_plugin_state_t* const calls = state_calls(clap);
  Output output = { .part = part };
  const clap_ostream_t stream = { &output, on_write };
  if (!calls) {
    return error_set(error, STATUS_NOT_FOUND, "the plugin cannot save its state");
  }
  const bool is_saved = calls->save(clap, &stream);
  if (output.is_full) { // also if the plugin has not noticed
    return error_set(error, part->failed ? STATUS_NO_MEM : STATUS_LIMIT,
                     "its state has more than %u MiB", FX_STATE_MAX_BYTES >> 20U);
  }
  return is_saved
             ? STATUS_OK
             : error_set(error, STATUS_FILE, "clap %s does not save its state", clap->desc->id);
}

// ---- load ----

static int64_t
on_read(const clap_istream_t* const stream, void* const bytes, const uint64_t n_bytes)
{
  StatePart* const rest = stream->ctx;
  const size_t n = n_bytes < rest->n_bytes ? (size_t)n_bytes : rest->n_bytes;
  memcpy(bytes, rest->bytes, n);
  rest->bytes += n;
  rest->n_bytes -= n;
  return (int64_t)n;
}

Status
clap_state_load(const clap_plugin_t* const clap, const StatePart* const part, Error* const error)
{
  const clap_plugin_state_t* const calls = state_calls(clap);
  StatePart rest = *part;
  const clap_istream_t stream = { &rest, on_read };
  return calls && calls->load(clap, &stream)
             ? STATUS_OK
             : error_set(error, STATUS_FILE, "clap %s refuses its state", clap->desc->id);
}
