// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Prints the names in the program's tables that an operator may see, as one JSON object.
   operating.py compares them with OPERATING.md; counters.py makes each of them occur.
*/

#include "control/commands.h"
#include "control/net/packet_check.h"
#include "control/notify.h"
#include "engine/base/status.h"
#include "engine/ring/ring_private.h"
#include "tools/live_log.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

static json_t*
addresses(void)
{
  json_t* const list = json_array();
  for (uint32_t c = 0; c < n_commands; ++c) {
    json_array_append_new(list, json_string(command_table[c].address));
  }
  return list;
}

static json_t*
events(void)
{
  json_t* const object = json_object();
  for (int e = 0; e < N_LIVE_EVENTS; ++e) {
    const LiveEventInfo info = live_event_info((LiveEvent)e);
    json_object_set_new(
        object, info.name,
        json_pack("{ss sI}", "level", info.level, "interval_s", (json_int_t)info.interval_s));
  }
  return object;
}

static json_t*
news(void)
{
  json_t* const list = json_array();
  for (int e = 0; e < N_NOTIFY_EVENTS; ++e) {
    json_array_append_new(list, json_string(notify_address((NotifyEvent)e)));
  }
  return list;
}

static json_t*
reasons(void)
{
  json_t* const list = json_array();
  for (int r = PACKET_OK + 1; r < PACKET_N_FAULTS; ++r) {
    json_array_append_new(list, json_string(packet_fault_word((PacketFault)r)));
  }
  return list;
}

static json_t*
exit_codes(void)
{
  json_t* const list = json_array();
  for (int s = STATUS_OK; s < STATUS_N_STATUSES; ++s) {
    json_array_append_new(list, json_integer(status_exit_code((Status)s)));
  }
  return list;
}

/// Offsets in the memory that server and worker share.
static json_t*
ring(void)
{
  return json_pack("{sI sI sI sI sI sI}", "finished", (json_int_t)offsetof(RingHeader, finished),
                   "n_slots", (json_int_t)offsetof(RingHeader, shape.n_slots), "slot_bytes",
                   (json_int_t)offsetof(RingHeader, layout.slot_bytes), "slot_header_bytes",
                   (json_int_t)RING_ROW_BYTES, "slots_offset",
                   (json_int_t)offsetof(RingHeader, layout.slots_offset), "result",
                   (json_int_t)offsetof(RingSlot, result));
}

int
main(void)
{
  json_t* const all =
      json_pack("{so so so so so so}", "addresses", addresses(), "events", events(), "exit_codes",
                exit_codes(), "news", news(), "reasons", reasons(), "ring", ring());
  const int failed = !all || json_dumpf(all, stdout, JSON_INDENT(1));
  json_decref(all);
  return failed;
}
