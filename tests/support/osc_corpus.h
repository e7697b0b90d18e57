// SPDX-License-Identifier: GPL-3.0-or-later
/// The packets of tests/data/packets.txt, which says how they are written.
#ifndef WARPRACK_TESTS_OSC_CORPUS_H
#define WARPRACK_TESTS_OSC_CORPUS_H

#include "control/net/gate.h"

#include <stddef.h>
#include <stdint.h>

typedef struct OscPacket {
  GateReason reason; ///< What the gate is to say
  unsigned line;     ///< Where it is written
  size_t n_bytes;
  uint8_t* bytes; ///< In memory of exactly their size, so that a sanitizer sees each step too far
} OscPacket;

typedef struct OscCorpus {
  OscPacket* packets; ///< [n]
  uint32_t n;
} OscCorpus;

/// Read the packets, with times from `now_ntp` on.  A file that is missing or wrong ends the
/// program and says where.
OscCorpus osc_corpus_read(const char* path, uint64_t now_ntp);

void osc_corpus_clear(OscCorpus* corpus);

#endif
