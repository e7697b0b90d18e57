// SPDX-License-Identifier: GPL-3.0-or-later
// Encoding and decoding of messages, and the table of their kinds.

#include "wire_private.h"

#include <stdlib.h>
#include <unistd.h>

// ---- kinds ----

/// Upper bounds of body sizes, a little above the largest body of each kind.
#define STATUS_BYTES     (512U + (uint32_t)sizeof(WorkerStatus) + FX_MAX_CHANNELS * 16U)
#define TEXT_BYTES       (WIRE_TEXT_BYTES + 128U)
#define PLACEMENTS_BYTES (4U + RACK_MAX_NODES * PLACEMENT_BYTES)
#define SAVED_BYTES      (TEXT_BYTES + FX_STATE_MAX_BYTES)
#define FACTS_BYTES      (TEXT_BYTES + FX_MAX_CHANNELS * 16U)
#define REPLY_BYTES      (FACTS_BYTES + (uint32_t)sizeof(RackRefused))

_Static_assert(SAVED_BYTES + 64U < WIRE_QUEUE_BYTES, "a state fits into the queue");

static const struct {
  const char* name;
  WireSide side; ///< The side that receives it
  uint32_t max_bytes;
} kinds[WIRE_N_KINDS] = {
  [WIRE_CONFIG] = { "CONFIG", WIRE_WORKER, WIRE_MAX_BYTES },
  [WIRE_ARM] = { "ARM", WIRE_WORKER, 64U },
  [WIRE_DISARM] = { "DISARM", WIRE_WORKER, 0U },
  [WIRE_EDIT] = { "EDIT", WIRE_WORKER, WIRE_MAX_BYTES },
  [WIRE_SET] = { "SET", WIRE_WORKER, 4U + WIRE_MAX_MESSAGES * 28U },
  [WIRE_SAVE] = { "SAVE", WIRE_WORKER, 12U },
  [WIRE_RESET_LOAD] = { "RESET_LOAD", WIRE_WORKER, 0U },
  [WIRE_PLUGINS] = { "PLUGINS", WIRE_WORKER, 0U },
  [WIRE_READY] = { "READY", WIRE_SERVER, STATUS_BYTES },
  [WIRE_FAILED] = { "FAILED", WIRE_SERVER, TEXT_BYTES },
  [WIRE_ARMED] = { "ARMED", WIRE_SERVER, REPLY_BYTES },
  [WIRE_DISARMED] = { "DISARMED", WIRE_SERVER, 0U },
  [WIRE_REPLY] = { "REPLY", WIRE_SERVER, REPLY_BYTES },
  [WIRE_SAVED] = { "SAVED", WIRE_SERVER, SAVED_BYTES },
  [WIRE_CHANGED] = { "CHANGED", WIRE_SERVER, FACTS_BYTES },
  [WIRE_STATUS] = { "STATUS", WIRE_SERVER, STATUS_BYTES },
  [WIRE_PLACEMENTS] = { "PLACEMENTS", WIRE_SERVER, PLACEMENTS_BYTES },
  [WIRE_LOST] = { "LOST", WIRE_SERVER, 16U },
  [WIRE_NOTE] = { "NOTE", WIRE_SERVER, TEXT_BYTES },
};

const char*
wire_kind_name(const uint32_t kind)
{
  return kind < WIRE_N_KINDS && kinds[kind].name ? kinds[kind].name : "a message";
}

bool
wire_kind_bytes(const WireSide side, const uint32_t kind, uint32_t* const max_bytes)
{
  if (kind == WIRE_NONE || kind >= WIRE_N_KINDS || kinds[kind].side != side) {
    return false;
  }
  *max_bytes = kinds[kind].max_bytes;
  return true;
}

int*
wire_descriptor(WireMessage* const message)
{
  switch (message->kind) {
  case WIRE_CONFIG:
    return &message->config.recorder_fd;
  case WIRE_ARM:
    return &message->arm.ring_fd;
  case WIRE_PLUGINS:
    return &message->plugins_fd;
  default:
    return NULL;
  }
}

// ---- messages ----

static void
code_message(Coder* const coder, WireMessage* const message)
{
  switch (message->kind) {
  case WIRE_CONFIG:
    wire_code_config(coder, &message->config);
    break;
  case WIRE_ARM:
    wire_code_arm(coder, &message->arm);
    break;
  case WIRE_EDIT:
    wire_code_edit(coder, &message->edit);
    break;
  case WIRE_SET:
    wire_code_set(coder, &message->set);
    break;
  case WIRE_SAVE:
    wire_code_save(coder, &message->save);
    break;
  case WIRE_SAVED:
    wire_code_saved(coder, &message->saved);
    break;
  case WIRE_READY:
  case WIRE_STATUS:
    wire_code_status(coder, &message->status);
    break;
  case WIRE_FAILED:
    wire_code_failed(coder, &message->failed);
    break;
  case WIRE_ARMED:
    wire_code_armed(coder, &message->armed);
    break;
  case WIRE_REPLY:
    wire_code_reply(coder, &message->reply);
    break;
  case WIRE_CHANGED:
    wire_code_facts(coder, &message->changed);
    break;
  case WIRE_PLACEMENTS:
    wire_code_placements(coder, &message->placements);
    break;
  case WIRE_LOST:
    wire_code_lost(coder, &message->lost);
    break;
  case WIRE_NOTE:
    coder_text(coder, message->note, sizeof(message->note), "note");
    break;
  case WIRE_DISARM:
  case WIRE_RESET_LOAD:
  case WIRE_PLUGINS:
  case WIRE_DISARMED:
    break; // they have no body
  default:
    coder_fail(coder, STATUS_BAD_ARG, "no such kind");
    break;
  }
}

static Status
fail_message(const Coder* const coder, const uint32_t kind, Error* const error)
{
  return error_set(error, coder->error.status, "%s: %.400s", wire_kind_name(kind),
                   coder->error.text);
}

Status
wire_encode(const WireMessage* const message, unsigned char** const body, uint32_t* const n_bytes,
            Error* const error)
{
  const bool is_known = message->kind < WIRE_N_KINDS;
  Coder coder = { .writes = true, .max = is_known ? kinds[message->kind].max_bytes : 0U };
  WireMessage copy = *message; // encoding replaces unprintable bytes in the copy's texts
  code_message(&coder, &copy);
  if (coder.error.status) {
    free(coder.out);
    return fail_message(&coder, message->kind, error);
  }
  *body = coder.out;
  *n_bytes = coder.at;
  return STATUS_OK;
}

Status
wire_decode(const WireSide side, const uint32_t kind, const unsigned char* const body,
            const uint32_t n_bytes, const int fd, WireMessage* const message, Error* const error)
{
  Coder coder = { .in = body, .bytes = n_bytes };
  uint32_t max_bytes = 0;
  *message = (WireMessage){ .kind = WIRE_NONE };
  if (!wire_kind_bytes(side, kind, &max_bytes) || n_bytes > max_bytes) {
    return error_set(error, STATUS_BAD_ARG,
                     "%s of %u bytes (kind %u) is not a message for this process",
                     wire_kind_name(kind), n_bytes, kind);
  }
  message->kind = (WireKind)kind;
  code_message(&coder, message);
  if (coder_left(&coder)) {
    coder_fail(&coder, STATUS_BAD_ARG, "%u bytes too many", coder_left(&coder));
  }
  int* const place = wire_descriptor(message);
  if ((place != NULL) != (fd >= 0)) {
    coder_fail(&coder, STATUS_BAD_ARG, "%s", fd < 0 ? "no descriptor with it" : "a descriptor");
  }
  if (place) {
    *place = coder.error.status ? -1 : fd;
  }
  if (coder.error.status) {
    wire_message_clear(message);
    return fail_message(&coder, kind, error);
  }
  return STATUS_OK;
}

void
wire_message_clear(WireMessage* const message)
{
  const int* const fd = wire_descriptor(message);
  if (fd && *fd >= 0) {
    close(*fd);
  }
  switch (message->kind) { // free the members of a received message
  case WIRE_CONFIG:
    rack_free((Rack*)message->config.rack);
    break;
  case WIRE_EDIT:
    rack_free((Rack*)message->edit.rack);
    break;
  case WIRE_SET:
    free((void*)message->set.messages);
    break;
  case WIRE_SAVED:
    free((void*)message->saved.saved.bytes);
    break;
  case WIRE_PLACEMENTS:
    free((void*)message->placements.placements);
    break;
  default:
    break;
  }
  *message = (WireMessage){ .kind = WIRE_NONE };
}
