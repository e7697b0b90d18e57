// SPDX-License-Identifier: GPL-3.0-or-later
// A classic BPF program on the socket (Steven McCanne, Van Jacobson, "The BSD Packet Filter", 1993;
// Linux: Documentation/networking/filter.rst).  A UDP socket's filter sees the UDP header first,
// and the IP header at SKF_NET_OFF.

#include "sieve.h"

#include "../engine/status.h"

#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>

#define IP4_SOURCE     12U // offset of the sender in an IPv4 header
#define IP6_SOURCE     8U  // in an IPv6 one
#define EVERYTHING     UINT32_MAX
#define OPEN           UINT32_MAX // a branch that does not lead anywhere yet
#define ADDRESS_LENGTH 18U        // instructions for an IPv6 one, its ports apart

typedef struct Program {
  struct sock_filter items[SIEVE_MAX_ADDRESSES * ADDRESS_LENGTH + 2U * SIEVE_MAX + 1U];
  uint16_t n;
} Program;

static void
add(Program* const program, const uint16_t code, const uint32_t value)
{
  program->items[program->n++] = (struct sock_filter)BPF_STMT(code, value);
}

/// Go on only with this value; else with the next address, see close_branches().
static void
add_test(Program* const program, const uint32_t value)
{
  program->items[program->n++] =
      (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
  add(program, BPF_JMP | BPF_JA, OPEN); // a test itself leaps over 255 instructions at most
}

static uint32_t
word_at(const uint8_t* const bytes)
{
  return (uint32_t)bytes[0] << 24U | (uint32_t)bytes[1] << 16U | (uint32_t)bytes[2] << 8U |
         bytes[3];
}

static void
add_words(Program* const program, const uint32_t offset, const uint8_t* const bytes,
          const uint32_t n_bytes)
{
  for (uint32_t i = 0; i < n_bytes; i += 4U) {
    add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF + offset + i);
    add_test(program, word_at(bytes + i));
  }
}

static void
add_address(Program* const program, const PeerKey* const key)
{
  const bool is_ip4 = peer_key_is_ip4(key);
  add(program, BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_NET_OFF); // version and length
  add(program, BPF_ALU | BPF_AND | BPF_K, 0xF0);
  add_test(program, is_ip4 ? 0x40 : 0x60);
  if (is_ip4) {
    add_words(program, IP4_SOURCE, key->address + 12, 4);
  } else {
    add_words(program, IP6_SOURCE, key->address, 16);
  }
  add(program, BPF_LD | BPF_H | BPF_ABS, 0); // the sender's port, first in a UDP header
}

static void
add_port(Program* const program, const uint16_t port)
{
  if (port) {
    program->items[program->n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1);
  }
  add(program, BPF_RET | BPF_K, 0); // throw it away
}

static void
close_branches(Program* const program)
{
  for (uint32_t i = 0; i < program->n; ++i) {
    struct sock_filter* const item = &program->items[i];
    if (item->code == (BPF_JMP | BPF_JA) && item->k == OPEN) {
      item->k = program->n - i - 1U;
    }
  }
}

static bool
is_same_address(const PeerKey* const a, const PeerKey* const b)
{
  return memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static bool
attach(const int socket, const struct sock_fprog* const filter)
{
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, filter, sizeof(*filter)) == 0;
}

/// The kernel counts the old program until it has the new one, and two may be too much for it
/// (net.core.optmem_max).
static bool
detach(const int socket)
{
  const int ignored = 0;
  return setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &ignored, sizeof(ignored)) == 0;
}

bool
sieve_set(const int socket, const PeerKey* const keys, const uint32_t n)
{
  Program program = { .n = 0 };
  bool is_done[SIEVE_MAX] = { false };
  uint32_t n_addresses = 0;
  for (uint32_t i = 0; i < n && i < SIEVE_MAX && n_addresses < SIEVE_MAX_ADDRESSES; ++i) {
    if (is_done[i]) {
      continue;
    }
    add_address(&program, &keys[i]);
    for (uint32_t j = i; j < n && j < SIEVE_MAX; ++j) {
      if (is_same_address(&keys[i], &keys[j])) {
        add_port(&program, keys[j].port);
        is_done[j] = true;
      }
    }
    close_branches(&program);
    ++n_addresses;
  }
  add(&program, BPF_RET | BPF_K, EVERYTHING);
  const struct sock_fprog filter = { program.n, program.items };
  return attach(socket, &filter) || (detach(socket) && attach(socket, &filter));
}

uint64_t
sieve_n_lost(const int socket)
{
  uint32_t info[SK_MEMINFO_VARS] = { 0 };
  socklen_t n_bytes = sizeof(info);
  return getsockopt(socket, SOL_SOCKET, SO_MEMINFO, info, &n_bytes) == 0 ? info[SK_MEMINFO_DROPS]
                                                                         : 0U;
}
