// SPDX-License-Identifier: GPL-3.0-or-later
// Packets: packet_check(), then the parser of messages and the search for their commands.

#include "fuzz.h"

#include "control/commands.h"
#include "control/net/packet_check.h"
#include "control/net/message.h"
#include "tests/support/osc_corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW UINT64_C(0xE8754C0000000000)

/// Read all parts of a message.
static double
read_message(const Message* const message)
{
  double sum = 0.0;
  for (uint32_t a = 0; a < message_n_arguments(message); ++a) {
    const char type = message_type(message, a);
    sum += type == 's' || type == 'S' ? (double)strlen(message_text(message, a))
                                      : message_number(message, a);
  }
  const CommandInfo* info = NULL;
  Error error;
  if (command_find(message, &info, &error) == STATUS_OK) {
    fuzz_check(info != NULL, "a command that is found has a row");
  }
  return sum;
}

static uint32_t
read_bundles(const uint8_t* const bytes, const size_t n_bytes)
{
  const Peer peer = { .n_bytes = 0 };
  const Instant arrival = { NOW, 1000000000U };
  Bundle* bundle = NULL;
  uint32_t n_messages = 0;
  fuzz_check(bundles_read(bytes, n_bytes, &peer, &arrival, &bundle) == STATUS_OK,
             "a packet that passes packet_check() can be read");
  while (bundle) {
    Bundle* const next = bundle->next;
    fuzz_check(bundle->due_ns <=
                   arrival.monotonic_ns + (PACKET_HORIZON_S + 1U) * UINT64_C(1000000000),
               "no bundle is due beyond the horizon");
    for (uint32_t m = 0; m < bundle->n_messages; ++m) {
      (void)read_message(&bundle->messages[m]);
    }
    n_messages += bundle->n_messages;
    bundle_free(bundle);
    bundle = next;
  }
  return n_messages;
}

int
LLVMFuzzerTestOneInput(const uint8_t* const bytes, const size_t n_bytes)
{
  uint32_t n_messages = 0;
  const PacketFault reason = packet_check(bytes, n_bytes, NOW, &n_messages);
  fuzz_check(reason < PACKET_N_FAULTS && packet_fault_text(reason) != NULL,
             "each reason has a text");
  if (reason == PACKET_OK) {
    uint8_t* const padded = calloc(1, n_bytes + 8U); // as the intake passes it on
    memcpy(padded, bytes, n_bytes);
    fuzz_check(read_bundles(padded, n_bytes) == n_messages, "packet_check() counts the messages");
    free(padded);
  }
  return 0;
}

void
fuzz_examples(FuzzVisit* const visit, void* const context)
{
  char path[512];
  snprintf(path, sizeof(path), "%s/packets.txt", getenv("WARPRACK_TEST_DATA"));
  OscCorpus corpus = osc_corpus_read(path, NOW);
  for (uint32_t i = 0; i < corpus.n; ++i) {
    visit(context, corpus.packets[i].bytes, corpus.packets[i].n_bytes);
  }
  osc_corpus_clear(&corpus);
}
