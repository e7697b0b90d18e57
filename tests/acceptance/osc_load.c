// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Sends packets to the OSC port of a server on this machine, and measures its replies.

       osc_load ask PORT N [new]            sends N commands, waits for each reply, and measures the
                                            times in ms; `new`: each command from a new port
       osc_load corpus PORT CORPUS          sends each bad packet of packets.txt once
       osc_load flood PORT SECONDS PACKET [SENDERS]
                                            sends ping, status, value or noise at full speed
       osc_load pace PORT SECONDS RATE      sends RATE values per second, and counts the replies
       osc_load mutate PORT N SEED CORPUS   sends N mutated packets of packets.txt, and checks that
                                            the server counts each refused packet with its reason

   Each command prints one line of "key value" pairs.
*/

#include "control/net/clock.h"
#include "engine/base/percentiles.h"
#include "tests/support/osc_corpus.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS_NS           1000000ULL
#define S_NS            1000000000ULL
#define RESEND_MS       100     // UDP may lose a command or its reply
#define ASK_INTERVAL_NS 2000000 // 500 commands a second
#define BATCH           64U
#define ANSWER_BYTES    65536U

static const char ping[] = "/server/ping\0\0\0\0,\0\0";           // 20 bytes with the final zero
static const char status[] = "/server/status\0\0,\0\0";           // 20
static const char value[] = "/node/vol/gain\0\0,f\0\0\xC0\x70\0"; // 24: -3.75 dB
static const char noise[] = "/server/status\0\0,s\0\0no end, no end"; // 34: not a multiple of 4

static uint64_t
now_ns(void)
{
  return instant_now().monotonic_ns;
}

static int
connect_to(const char* const port)
{
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const struct sockaddr_in to = { .sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  const int n_bytes = 4 << 20;
  if (fd < 0 || connect(fd, (const struct sockaddr*)&to, sizeof(to))) {
    perror("osc_load");
    exit(2);
  }
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n_bytes, sizeof(n_bytes));
  return fd;
}

/// Receive an answer of at least 5 bytes; false if none arrives within `timeout_ms`.
static bool
receive(const int fd, char* const answer, const int timeout_ms)
{
  struct pollfd poll_fd = { fd, POLLIN, 0 };
  if (poll(&poll_fd, 1, timeout_ms) <= 0) {
    return false;
  }
  return recv(fd, answer, ANSWER_BYTES, 0) >= 5;
}

// ---- ask ----

/// Receive a /done, or a /fail with an address.  Skips other answers and reports of dropped
/// packets: they are for a previous user of the port.
static bool
receive_answer(const int fd, char* const answer, const int timeout_ms)
{
  static const char done[] = "/done";
  static const char fail[] = "/fail\0\0\0,sis\0\0\0\0/";
  while (receive(fd, answer, timeout_ms)) {
    if (memcmp(answer, done, sizeof(done)) == 0 || memcmp(answer, fail, sizeof(fail) - 1U) == 0) {
      return true;
    }
  }
  return false;
}

/// Send a command until the server replies to it.  Returns the time in ms.
static double
ask_once(const int fd, const void* const packet, const size_t n_bytes, uint32_t* const n_resent)
{
  static char answer[ANSWER_BYTES];
  uint32_t n_sent = 0;
  const uint64_t begin_ns = now_ns();
  do {
    if (now_ns() - begin_ns > 30U * S_NS) {
      fprintf(stderr, "osc_load: no answer within 30 s\n");
      exit(1);
    }
    (void)!send(fd, packet, n_bytes, 0);
    ++n_sent;
  } while (!receive_answer(fd, answer, RESEND_MS));
  const double ms = (double)(now_ns() - begin_ns) / (double)MS_NS;
  if (memcmp(answer, "/done", 5) != 0) {
    fprintf(stderr, "osc_load: the answer is not /done but: %s\n", answer);
    exit(1);
  }
  *n_resent += n_sent - 1U;
  while (--n_sent && receive_answer(fd, answer, RESEND_MS)) {
    // wait for the replies to repeated sends, before the next command
  }
  return ms;
}

static void
ask(const char* const port, const uint32_t n, const bool is_new)
{
  int fd = connect_to(port);
  double* const ms = calloc(n, sizeof(double));
  uint32_t n_resent = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const bool is_ping = i % 2U;
    if (is_new) {
      close(fd);
      fd = connect_to(port);
    }
    ms[i] = ask_once(fd, is_ping ? ping : value, is_ping ? 20U : 24U, &n_resent);
    nanosleep(&(struct timespec){ .tv_nsec = ASK_INTERVAL_NS }, NULL);
  }
  const Percentiles times = percentiles_of(ms, n);
  printf("asked %u p50_ms %.3f p99_ms %.3f max_ms %.3f resent %u\n", n, times.p50, times.p99,
         times.max, n_resent);
  free(ms);
  close(fd);
}

// ---- flood ----

#define MAX_FLOODERS 2000U

static void
flood(const char* const port, const double seconds, const void* const packet, const size_t n_bytes,
      const uint32_t n_senders)
{
  static int fds[MAX_FLOODERS];
  for (uint32_t i = 0; i < n_senders; ++i) {
    fds[i] = connect_to(port);
  }
  struct iovec part = { (void*)packet, n_bytes };
  struct mmsghdr headers[BATCH];
  for (uint32_t i = 0; i < BATCH; ++i) {
    headers[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };
  }
  const uint64_t begin_ns = now_ns();
  const uint64_t end_ns = begin_ns + (uint64_t)(seconds * (double)S_NS);
  uint64_t n_sent = 0;
  for (uint32_t i = 0; now_ns() < end_ns; i = (i + 1U) % n_senders) {
    const int n = sendmmsg(fds[i], headers, BATCH, 0);
    n_sent += n > 0 ? (uint64_t)n : 0U;
  }
  printf("sent %llu per_s %.0f\n", (unsigned long long)n_sent,
         (double)n_sent / ((double)(now_ns() - begin_ns) * 1e-9));
}

// ---- pace ----

static uint64_t
count_answers(const int fd)
{
  static char answer[ANSWER_BYTES];
  uint64_t n = 0;
  while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0) {
    n += memcmp(answer, "/done", 5) == 0;
  }
  return n;
}

static void
pace(const char* const port, const double seconds, const double rate_hz)
{
  const int fd = connect_to(port);
  const uint64_t begin_ns = now_ns();
  const uint64_t n_all = (uint64_t)(seconds * rate_hz);
  uint64_t n_sent = 0;
  uint64_t n_done = 0;
  while (n_sent < n_all) {
    const double elapsed_s = (double)(now_ns() - begin_ns) * 1e-9;
    for (const uint64_t n_due = (uint64_t)(elapsed_s * rate_hz);
         n_sent < n_due && n_sent < n_all;) {
      n_sent += send(fd, value, 24U, 0) == 24;
    }
    n_done += count_answers(fd);
    nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
  }
  const double took_s = (double)(now_ns() - begin_ns) * 1e-9;
  const struct timespec second = { .tv_sec = 1 };
  nanosleep(&second, NULL); // the last replies may be late
  n_done += count_answers(fd);
  printf("sent %llu seconds %.3f acknowledged %llu\n", (unsigned long long)n_sent, took_s,
         (unsigned long long)n_done);
  close(fd);
}

// ---- mutate ----

#define SENDERS   32U  // so many that each stays below the allowed rate of a sender
#define WINDOW    256U // packets between two pings
#define MAX_BYTES 2000U

typedef struct Mutator {
  const char* path;
  OscCorpus corpus;
  uint64_t read_ns; // when the corpus was read: its time tags are relative to that time
  uint64_t random;
} Mutator;

static uint64_t
next_random(Mutator* const mutator)
{
  mutator->random = mutator->random * 6364136223846793005U + 1442695040888963407U;
  return mutator->random >> 20U;
}

/// Change up to three bytes, and sometimes the length.  Returns the length.
static size_t
mutate(Mutator* const mutator, uint8_t* const bytes, size_t n_bytes)
{
  static const uint8_t interesting[] = { 0,   1,   4,   ',',  '/',  '#', '[',
                                         '}', 's', 'b', 0x7F, 0x80, 0xFF };
  for (uint64_t n = 1U + next_random(mutator) % 3U; n > 0 && n_bytes; --n) {
    const size_t at = next_random(mutator) % n_bytes;
    const uint64_t choice = next_random(mutator);
    bytes[at] =
        choice % 2U ? (uint8_t)(choice >> 8U) : interesting[(choice >> 8U) % sizeof(interesting)];
    if (choice % 16U == 2U && n_bytes > 4U) {
      n_bytes -= 4U;
    } else if (choice % 64U == 4U) {
      n_bytes -= 1U;
    }
  }
  return n_bytes;
}

/// Make a packet, and compute what packet_check() returns.  Packets whose result would change
/// within a second are left out.
static size_t
next_packet(Mutator* const mutator, uint8_t* const bytes, PacketFault* const reason)
{
  for (;;) {
    const OscPacket* const origin =
        &mutator->corpus.packets[next_random(mutator) % mutator->corpus.n];
    const bool is_wanted = origin->reason == PACKET_OK || next_random(mutator) % 8U == 0;
    if (!is_wanted || origin->n_bytes > MAX_BYTES) {
      continue; // prefer good packets, which reach more code, and small ones
    }
    memcpy(bytes, origin->bytes, origin->n_bytes);
    const size_t n_bytes = mutate(mutator, bytes, origin->n_bytes);
    if (n_bytes >= sizeof("/server/ping") && memcmp(bytes, ping, sizeof("/server/ping")) == 0) {
      continue; // wait_for_ping() would take the answer to this packet for that to its own ping
    }
    const uint64_t ntp = instant_now().ntp;
    uint32_t n_messages = 0;
    *reason = packet_check(bytes, n_bytes, ntp, &n_messages);
    if (*reason == packet_check(bytes, n_bytes, ntp + TAG_SECOND, &n_messages)) {
      return n_bytes;
    }
  }
}

/// Send a ping and wait for its reply: then the server has handled all earlier packets of this
/// sender.
static void
wait_for_ping(const int fd)
{
  static const char done[] = "/done\0\0\0,s\0\0/server/ping";
  static char answer[ANSWER_BYTES];
  (void)!send(fd, ping, sizeof(ping), 0);
  do {
    if (!receive(fd, answer, 30000)) {
      fprintf(stderr, "osc_load: no answer within 30 s: the server is gone\n");
      exit(1);
    }
  } while (memcmp(answer, done, sizeof(done)) != 0);
}

/// The number that /server/status has for this key.
static uint64_t
ask_status(const int fd, const char* const key)
{
  static char answer[ANSWER_BYTES];
  (void)!send(fd, status, sizeof(status), 0);
  do {
    memset(answer, 0, sizeof(answer));
    if (!receive(fd, answer, 30000)) {
      fprintf(stderr, "osc_load: no status within 30 s\n");
      exit(1);
    }
  } while (memcmp(answer, "/server/status", sizeof("/server/status")) != 0);

  // The status consists of pairs of a key and a value; the type tags give the length of each value.
  const char* type = answer + 16 + 1;
  const char* at = answer + 16 + ((strlen(answer + 16) + 4U) & ~3UL);
  const char* last = "";
  for (; *type; ++type) {
    if (*type == 's') {
      last = at;
      at += (strlen(at) + 4U) & ~3UL;
    } else if (strcmp(last, key) == 0 && *type == 'h') {
      return packet_read_u64(at);
    } else {
      at += *type == 'h' ? 8 : 4;
    }
  }
  fprintf(stderr, "osc_load: /server/status has no key %s\n", key);
  exit(1);
}

static bool
check_counter(const int fd, const PacketFault reason, const uint64_t expected)
{
  char key[64];
  snprintf(key, sizeof(key), "refused_%s", packet_fault_word(reason));
  const uint64_t n = ask_status(fd, key);
  if (n != expected) {
    fprintf(stderr, "osc_load: %s is %llu, expected %llu\n", key, (unsigned long long)n,
            (unsigned long long)expected);
  }
  return n == expected;
}

static bool
mutate_all(const char* const port, const uint64_t n_packets, const uint64_t seed,
           const char* const path)
{
  int fds[SENDERS];
  for (uint32_t i = 0; i < SENDERS; ++i) {
    fds[i] = connect_to(port);
  }
  Mutator mutator = { .path = path, .random = seed };
  uint64_t n_of[PACKET_N_FAULTS] = { 0 };
  uint8_t bytes[MAX_BYTES];
  const uint64_t begin_ns = now_ns();
  for (uint64_t n = 0; n < n_packets; ++n) {
    if (now_ns() - mutator.read_ns > S_NS) {
      osc_corpus_clear(&mutator.corpus);
      mutator.corpus = osc_corpus_read(path, instant_now().ntp);
      mutator.read_ns = now_ns();
    }
    const int fd = fds[n / WINDOW % SENDERS];
    PacketFault reason = PACKET_OK;
    const size_t n_bytes = next_packet(&mutator, bytes, &reason);
    (void)!send(fd, bytes, n_bytes, 0);
    ++n_of[reason];
    if (n % WINDOW == WINDOW - 1U) {
      wait_for_ping(fd);
    }
  }
  for (uint32_t i = 0; i < SENDERS; ++i) {
    wait_for_ping(fds[i]);
  }
  const double seconds = (double)(now_ns() - begin_ns) * 1e-9;

  bool is_exact = true;
  for (int reason = PACKET_OK + 1; reason < PACKET_N_FAULTS; ++reason) {
    is_exact &= check_counter(fds[0], (PacketFault)reason, n_of[reason]);
  }
  printf("sent %llu per_s %.0f good %llu dropped %llu lost %llu exact %d\n",
         (unsigned long long)n_packets, (double)n_packets / seconds,
         (unsigned long long)n_of[PACKET_OK], (unsigned long long)ask_status(fds[0], "osc_dropped"),
         (unsigned long long)ask_status(fds[0], "osc_lost"), is_exact);
  osc_corpus_clear(&mutator.corpus);
  for (uint32_t i = 0; i < SENDERS; ++i) {
    close(fds[i]);
  }
  return is_exact;
}

// ---- corpus ----

static void
send_bad(const char* const port, const char* const path)
{
  const int fd = connect_to(port);
  OscCorpus corpus = osc_corpus_read(path, instant_now().ntp);
  uint32_t n_sent = 0;
  for (uint32_t p = 0; p < corpus.n; ++p) {
    const OscPacket* const packet = &corpus.packets[p];
    if (packet->reason != PACKET_OK) {
      n_sent += send(fd, packet->bytes, packet->n_bytes, 0) >= 0;
    }
  }
  wait_for_ping(fd);
  printf("sent %u\n", n_sent);
  osc_corpus_clear(&corpus);
  close(fd);
}

int
main(const int argc, char** const argv)
{
  if ((argc == 4 || argc == 5) && !strcmp(argv[1], "ask")) {
    ask(argv[2], (uint32_t)atoi(argv[3]), argc == 5);
    return 0;
  }
  if ((argc == 5 || argc == 6) && !strcmp(argv[1], "flood")) {
    const double seconds = atof(argv[3]);
    const uint32_t n_senders = argc == 6 ? (uint32_t)atoi(argv[5]) : 1U;
    if (n_senders < 1U || n_senders > MAX_FLOODERS) {
      return 2;
    }
    if (!strcmp(argv[4], "ping")) {
      flood(argv[2], seconds, ping, sizeof(ping), n_senders);
    } else if (!strcmp(argv[4], "status")) {
      flood(argv[2], seconds, status, sizeof(status), n_senders);
    } else if (!strcmp(argv[4], "value")) {
      flood(argv[2], seconds, value, sizeof(value), n_senders);
    } else {
      flood(argv[2], seconds, noise, sizeof(noise), n_senders);
    }
    return 0;
  }
  if (argc == 5 && !strcmp(argv[1], "pace")) {
    pace(argv[2], atof(argv[3]), atof(argv[4]));
    return 0;
  }
  if (argc == 4 && !strcmp(argv[1], "corpus")) {
    send_bad(argv[2], argv[3]);
    return 0;
  }
  if (argc == 6 && !strcmp(argv[1], "mutate")) {
    return mutate_all(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), argv[5])
               ? 0
               : 1;
  }
  fprintf(stderr, "osc_load: see the top of osc_load.c\n");
  return 2;
}
