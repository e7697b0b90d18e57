// SPDX-License-Identifier: GPL-3.0-or-later
/// The packets of tests/data/packets.txt; that file describes its format.
#ifndef WARPRACK_TESTS_OSC_CORPUS_H
#define WARPRACK_TESTS_OSC_CORPUS_H

#include "control/net/packet_check.h"

#include <stddef.h>
#include <stdint.h>

typedef struct OscPacket {
  PacketFault reason; ///< Result that packet_check() must return
  unsigned line;      ///< Line of the file
  size_t n_bytes;
  uint8_t* bytes; ///< An allocation of exactly n_bytes, so that a sanitizer finds overruns
} OscPacket;

typedef struct OscCorpus {
  OscPacket* packets; ///< [n]
  uint32_t n;
} OscCorpus;

/// Read the packets; their time tags are relative to `now_ntp`.  If the file is missing or invalid,
/// the program prints the line and ends with code 2.
OscCorpus osc_corpus_read(const char* path, uint64_t now_ntp);

void osc_corpus_clear(OscCorpus* corpus);

#endif
