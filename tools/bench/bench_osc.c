// SPDX-License-Identifier: GPL-3.0-or-later
// bench osc: what an OSC message costs the server.
//
// A server runs as a program of its own, on the dummy driver.  One client sends sets of many
// parameters at a constant rate and counts the answers.  Meanwhile another client sends a set,
// waits for its /done, and sends the next one; in one row it recalls scenes of all parameters,
// which the server answers when the ring has their values, and in one it pings.  The cost is the
// processor time of the server's thread that serves packets, with the kernel's part of it, for each
// message that was answered: load of other threads counts little.

#include "bench.h"
#include "bench_report.h"

#include "control/net/packet_check.h"
#include "engine/base/percentiles.h"
#include "engine/base/time.h"
#include "tools/options.h"
#include "tools/talk.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_NODES      1000U
#define MAX_TOGETHER   10U // messages of a bundle
#define SET_BYTES      24U // "/node/g000/gain", ",f", a value
#define PACKET_BYTES   (20U + MAX_TOGETHER * (4U + SET_BYTES))
#define BATCH          64U // packets per system call
#define ANSWER_BYTES   2048U
#define RECEIVE_BYTES  (8 << 20)
#define START_NS       (10U * NS_PER_S)
#define SETTLE_FRAMES  48000              // a second, for first blocks and caches
#define PAUSE_NS       (100U * NS_PER_US) // between two batches
#define LAST_ANSWER_NS (NS_PER_S / 2U)
#define ASK_NS         (2U * NS_PER_MS) // between two commands of the other client
#define RECALL_NS      (20U * NS_PER_MS)
#define MAX_ASKED      100000U

static int osc_run(int argc, char** argv);

const Bench bench_osc = {
  .name = "bench osc",
  .usage = "[options]",
  .summary = "Time OSC messages in the server, single and in bundles",
  .run = osc_run,
};

typedef struct OscArgs {
  const char* program;
  int64_t block_frames, n_nodes;
  double seconds;
  bool has_subscriber;
  bool json;
} OscArgs;

/// What the other client sends, and waits for the answer.
typedef enum Ask { ASK_SET, ASK_PING, ASK_RECALL } Ask;

/// What the clients send.
typedef struct Row {
  const char* transport; ///< "udp", "tcp"; else the row has no client that sends sets
  uint32_t n_together;   ///< Messages of a packet
  double rate_hz;        ///< Messages
  Ask ask;
} Row;

// clang-format off
static const Row rows[] = {
  { "-",       1U,      0.0, ASK_SET },
  { "ping",    1U,      0.0, ASK_PING },
  { "recall",  1U,      0.0, ASK_RECALL },
  { "udp",     1U,  20000.0, ASK_SET },
  { "udp",     1U, 100000.0, ASK_SET },
  { "udp",    10U,  20000.0, ASK_SET },
  { "udp",    10U, 300000.0, ASK_SET },
  { "udp",    10U, 600000.0, ASK_SET },
  { "tcp",    10U, 300000.0, ASK_SET },
};
// clang-format on

typedef struct Figures {
  uint64_t n_sent, n_done, n_failed;
  double sent_s;                    ///< Time in which they were sent
  double cpu_s;                     ///< Of the thread that serves packets
  json_int_t blocks, late, dropped; ///< Dropped by the server or by the kernel
  Percentiles ask_ms;               ///< Of the other client
} Figures;

// ---- the server ----

typedef struct Server {
  pid_t pid;
  uint16_t port;
  TalkArgs talk;
} Server;

/// A port that is free now.
static uint16_t
free_port(void)
{
  struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n_bytes = sizeof(at);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool is_bound = fd >= 0 && !bind(fd, (const struct sockaddr*)&at, sizeof(at)) &&
                        !getsockname(fd, (struct sockaddr*)&at, &n_bytes);
  if (fd >= 0) {
    close(fd);
  }
  return is_bound ? ntohs(at.sin_port) : 0U;
}

/// Print a scene with one value of all gains.  Returns the number of bytes.
static size_t
print_scene(char* const text, const char name, const int gain_db, const int64_t n_nodes)
{
  size_t n = (size_t)sprintf(text, "scene %c", name);
  for (int64_t i = 0; i < n_nodes; ++i) {
    n += (size_t)sprintf(text + n, " g%03d.gain=%d", (int)i, gain_db);
  }
  return n + (size_t)sprintf(text + n, "\n");
}

/// The rack as text: parallel gains, and two scenes of all of them.  The caller frees it.
static char*
make_rack(const int64_t n_nodes)
{
  char* const text = malloc((size_t)n_nodes * 144U + 32U);
  size_t n = 0;
  for (int64_t i = 0; text && i < n_nodes; ++i) {
    n += (size_t)sprintf(text + n,
                         "add g%03d gain\nconnect in g%03d\nconnect g%03d out gain=-60dB\n", (int)i,
                         (int)i, (int)i);
  }
  if (text) {
    n += print_scene(text + n, 'a', -3, n_nodes);
    print_scene(text + n, 'b', -9, n_nodes);
  }
  return text;
}

static Status
spawn(Server* const server, const OscArgs* const args, Error* const error)
{
  char port[8];
  char block[8];
  char* const rack = make_rack(args->n_nodes);
  snprintf(port, sizeof(port), "%u", server->port);
  snprintf(block, sizeof(block), "%d", (int)args->block_frames);
  char* const argv[] = { PROGRAM_NAME, "run", "--io",    "dummy", "--backend", "cpu",
                         "--osc-port", port,  "--block", block,   rack,        NULL };
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int code =
      rack ? posix_spawn(&server->pid, args->program, &actions, NULL, argv, environ) : ENOMEM;
  posix_spawn_file_actions_destroy(&actions);
  free(rack);
  return code ? error_set(error, STATUS_FILE, "cannot start %s: %s", args->program, strerror(code))
              : STATUS_OK;
}

/// Ask for the status; NULL if the server does not answer.
static json_t*
ask_status(const Server* const server, Error* const error)
{
  static Talk talk;
  const char* address = NULL;
  lo_message answer = NULL;
  json_t* const status = json_object();
  Status result = talk_open(&talk, &server->talk, error);
  result = result ? result : talk_ask(&talk, "/server/status", error);
  result = result ? result : talk_receive(&talk, &address, &answer, error);
  if (!result) {
    talk_describe(status, address, answer);
    lo_message_free(answer);
  }
  talk_close(&talk);
  if (result) {
    json_decref(status);
  }
  return result ? NULL : status;
}

static Status
start(Server* const server, const OscArgs* const args, Error* const error)
{
  *server = (Server){ .port = free_port() };
  server->talk = (TalkArgs){ .host = "127.0.0.1", .port = server->port, .timeout_s = 2.0 };
  if (spawn(server, args, error)) {
    server->pid = 0;
    return error->status;
  }
  const uint64_t end_ns = time_now_ns() + START_NS;
  bool plays = false;
  while (!plays && time_now_ns() < end_ns) {
    time_sleep(50U * NS_PER_MS);
    json_t* const status = ask_status(server, error);
    plays = status && json_integer_value(json_object_get(status, "blocks")) * args->block_frames >=
                          SETTLE_FRAMES;
    json_decref(status);
  }
  return plays ? STATUS_OK : error_set(error, STATUS_NET, "the server does not play");
}

static void
stop(const Server* const server)
{
  if (server->pid > 0) {
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
  }
}

/// The first word of a file of a thread; "" if there is none.
static void
read_word(const Server* const server, const char* const task, const char* const name,
          char word[const 64])
{
  char path[320];
  snprintf(path, sizeof(path), "/proc/%d/task/%.200s/%s", (int)server->pid, task, name);
  FILE* const file = fopen(path, "r");
  if (!file || fscanf(file, "%63s", word) != 1) {
    word[0] = '\0';
  }
  if (file) {
    fclose(file);
  }
}

/// The processor time of the thread that serves packets, s.
static double
cpu_s(const Server* const server)
{
  char path[64];
  char word[64] = "0";
  snprintf(path, sizeof(path), "/proc/%d/task", (int)server->pid);
  DIR* const folder = opendir(path);
  const struct dirent* task = NULL;
  for (bool is_found = false; folder && !is_found && (task = readdir(folder));) {
    read_word(server, task->d_name, "comm", word);
    is_found = strcmp(word, "warprack-osc") == 0;
    read_word(server, task->d_name, "schedstat", word);
  }
  if (folder) {
    closedir(folder);
  }
  return strtod(word, NULL) * 1e-9;
}

// ---- packets ----

static void
put_u32(uint8_t* const to, const uint32_t number)
{
  const uint32_t big_endian = htonl(number);
  memcpy(to, &big_endian, sizeof(big_endian));
}

/// Write a set of node number `n` to a value.
static void
put_set(uint8_t* const to, const uint32_t n, const float value)
{
  uint32_t bits = 0;
  memset(to, 0, SET_BYTES);
  sprintf((char*)to, "/node/g%03u/gain", n % MAX_NODES);
  memcpy(to + 16, ",f", 2);
  memcpy(&bits, &value, sizeof(bits));
  put_u32(to + 20, bits);
}

/// Write the next packet of a client.  Returns its size.
static size_t
put_packet(uint8_t* const to, const Row* const row, const int64_t n_nodes, const uint64_t n_before)
{
  const float value = -(float)(n_before / (uint64_t)n_nodes % 24U);
  if (row->n_together == 1U) {
    put_set(to, (uint32_t)(n_before % (uint64_t)n_nodes), value);
    return SET_BYTES;
  }
  memcpy(to, "#bundle\0\0\0\0\0\0\0\0\1", 16);
  for (uint32_t m = 0; m < row->n_together; ++m) {
    uint8_t* const at = to + 16U + m * (4U + SET_BYTES);
    put_u32(at, SET_BYTES);
    put_set(at + 4, (uint32_t)((n_before + m) % (uint64_t)n_nodes), value);
  }
  return 16U + row->n_together * (4U + SET_BYTES);
}

/// Count the answers in a packet.
static void
count_answers(const uint8_t* const packet, const size_t n_bytes, Figures* const figures)
{
  if (n_bytes >= 16U && packet[0] == '#') {
    for (size_t at = 16U; at + 4U < n_bytes; at += 4U + packet_read_u32(packet + at)) {
      count_answers(packet + at + 4U, n_bytes - at - 4U, figures);
    }
  } else if (n_bytes >= 5U) {
    figures->n_done += !memcmp(packet, "/done", 5);
    figures->n_failed += !memcmp(packet, "/fail", 5);
  }
}

// ---- the client that sends much ----

typedef struct Client {
  const Row* row;
  int64_t n_nodes;
  int fd;
  bool is_tcp;
  uint8_t unsent[BATCH * (4U + PACKET_BYTES)]; ///< TCP: what the connection has not taken
  size_t n_unsent;
  uint8_t received[BATCH * ANSWER_BYTES]; ///< TCP: the beginning of an answer
  size_t n_received;
} Client;

static Status
connect_client(Client* const client, const Server* const server, Error* const error)
{
  const struct sockaddr_in to = { .sin_family = AF_INET,
                                  .sin_port = htons(server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  const int on = 1;
  const int n_bytes = RECEIVE_BYTES;
  client->fd = socket(AF_INET, (client->is_tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
  if (client->fd < 0 || connect(client->fd, (const struct sockaddr*)&to, sizeof(to))) {
    return error_set(error, STATUS_NET, "cannot connect: %s", strerror(errno));
  }
  if (setsockopt(client->fd, SOL_SOCKET, SO_RCVBUFFORCE, &n_bytes, sizeof(n_bytes))) { // not root
    (void)setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &n_bytes, sizeof(n_bytes));
  }
  if (client->is_tcp) {
    (void)setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  (void)fcntl(client->fd, F_SETFL, O_NONBLOCK);
  return STATUS_OK;
}

/// Send `n` packets, or fewer if the socket takes no more.  Returns the number sent.
static uint32_t
send_datagrams(const Client* const client, const uint32_t n, const uint64_t n_before)
{
  static uint8_t bytes[BATCH][PACKET_BYTES];
  struct iovec parts[BATCH];
  struct mmsghdr headers[BATCH];
  for (uint32_t p = 0; p < n; ++p) {
    const uint64_t first = n_before + p * client->row->n_together;
    parts[p] =
        (struct iovec){ bytes[p], put_packet(bytes[p], client->row, client->n_nodes, first) };
    headers[p] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[p], .msg_iovlen = 1 } };
  }
  const int n_sent = sendmmsg(client->fd, headers, n, MSG_DONTWAIT);
  return n_sent > 0 ? (uint32_t)n_sent : 0U;
}

/// As send_datagrams(), over TCP, with their sizes; first the rest of the packets before.
static uint32_t
send_stream(Client* const client, const uint32_t n, const uint64_t n_before)
{
  const bool has_rest = client->n_unsent;
  uint32_t n_sent = 0;
  for (size_t n_bytes = 0; !has_rest && n_sent < n; ++n_sent, client->n_unsent = n_bytes) {
    uint8_t* const at = client->unsent + n_bytes;
    const uint64_t first = n_before + n_sent * client->row->n_together;
    const size_t n_packet = put_packet(at + 4, client->row, client->n_nodes, first);
    put_u32(at, (uint32_t)n_packet);
    n_bytes += 4U + n_packet;
  }
  const ssize_t n_taken = send(client->fd, client->unsent, client->n_unsent, MSG_NOSIGNAL);
  if (n_taken > 0) {
    client->n_unsent -= (size_t)n_taken;
    memmove(client->unsent, client->unsent + n_taken, client->n_unsent);
  }
  return n_sent;
}

static void
receive_datagrams(const Client* const client, Figures* const figures)
{
  static uint8_t bytes[BATCH][ANSWER_BYTES];
  struct iovec parts[BATCH];
  struct mmsghdr headers[BATCH];
  int n = 0;
  do {
    for (uint32_t p = 0; p < BATCH; ++p) {
      parts[p] = (struct iovec){ bytes[p], ANSWER_BYTES };
      headers[p] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[p], .msg_iovlen = 1 } };
    }
    n = recvmmsg(client->fd, headers, BATCH, MSG_DONTWAIT, NULL);
    for (int p = 0; p < n; ++p) {
      count_answers(bytes[p], headers[p].msg_len, figures);
    }
  } while (n == (int)BATCH);
}

static void
receive_stream(Client* const client, Figures* const figures)
{
  ssize_t n = 0;
  while ((n = recv(client->fd, client->received + client->n_received,
                   sizeof(client->received) - client->n_received, MSG_DONTWAIT)) > 0) {
    const size_t n_all = client->n_received + (size_t)n;
    size_t at = 0;
    size_t n_packet = 0;
    while (n_all - at >= 4U &&
           (n_packet = packet_read_u32(client->received + at)) + 4U <= n_all - at) {
      count_answers(client->received + at + 4, n_packet, figures);
      at += 4U + n_packet;
    }
    client->n_received = n_all - at;
    memmove(client->received, client->received + at, client->n_received);
  }
}

static void
receive(Client* const client, Figures* const figures)
{
  if (client->is_tcp) {
    receive_stream(client, figures);
  } else {
    receive_datagrams(client, figures);
  }
}

/// Send for `seconds` at the rate of the row, and count the answers.
static void
send_at_rate(Client* const client, const double seconds, Figures* const figures)
{
  const uint32_t n_together = client->row->n_together;
  const uint64_t begin_ns = time_now_ns();
  const uint64_t length_ns = (uint64_t)(seconds * (double)NS_PER_S);
  uint64_t passed_ns = 0;
  while ((passed_ns = time_now_ns() - begin_ns) < length_ns) {
    const uint64_t n_due = (uint64_t)((double)passed_ns * 1e-9 * client->row->rate_hz);
    const uint64_t n_packets = (n_due - figures->n_sent) / n_together;
    const uint32_t n = (uint32_t)(n_packets < BATCH ? n_packets : BATCH);
    uint32_t n_sent = 0;
    if (n || client->n_unsent) {
      n_sent = client->is_tcp ? send_stream(client, n, figures->n_sent)
                              : send_datagrams(client, n, figures->n_sent);
    }
    figures->n_sent += (uint64_t)n_sent * n_together;
    receive(client, figures);
    if (n_packets <= BATCH) {
      time_sleep(PAUSE_NS);
    }
  }
  figures->sent_s = (double)(time_now_ns() - begin_ns) * 1e-9;
  const uint64_t last_ns = time_now_ns() + LAST_ANSWER_NS;
  while (figures->n_done + figures->n_failed < figures->n_sent && time_now_ns() < last_ns) {
    if (client->n_unsent) {
      (void)send_stream(client, 0, figures->n_sent);
    }
    receive(client, figures);
    time_sleep(PAUSE_NS);
  }
}

// ---- the client that waits for its answers ----

typedef struct Asking {
  const Server* server;
  Ask ask;
  atomic_bool is_over;
  double* ms; ///< [MAX_ASKED]
  uint32_t n;
  bool has_failed;
  Error error;
} Asking;

/// Write the nth message of the other client.  Returns its size.
static size_t
put_ask(uint8_t packet[const SET_BYTES], const Ask ask, const uint32_t n)
{
  static const char ping[] = "/server/ping\0\0\0\0,\0\0"; // with its final zero
  static const char recall_a[] = "/scene/recall\0\0\0,s\0\0a\0\0";
  static const char recall_b[] = "/scene/recall\0\0\0,s\0\0b\0\0";
  if (ask == ASK_PING) {
    memcpy(packet, ping, sizeof(ping));
    return sizeof(ping);
  }
  if (ask == ASK_RECALL) {
    memcpy(packet, n % 2U ? recall_a : recall_b, SET_BYTES);
  } else {
    put_set(packet, 0, -(float)(n % 24U));
  }
  return SET_BYTES;
}

static Status
ask_once(Talk* const talk, const Ask ask, const uint32_t n, Error* const error)
{
  static const char* const addresses[] = {
    [ASK_SET] = "/node/g000/gain", [ASK_PING] = "/server/ping", [ASK_RECALL] = "/scene/recall"
  };
  uint8_t* const packet = malloc(SET_BYTES);
  const size_t n_bytes = packet ? put_ask(packet, ask, n) : 0U;
  const char* address = NULL;
  lo_message answer = NULL;
  talk->limit_ns = time_now_ns() + NS_PER_S;
  Status status = talk_send(talk, addresses[ask], packet, n_bytes, error);
  status = status ? status : talk_receive(talk, &address, &answer, error);
  if (!status) {
    lo_message_free(answer);
  }
  return status;
}

static void*
ask_run(void* const context)
{
  static Talk talk;
  Asking* const asking = context;
  Status status = talk_open(&talk, &asking->server->talk, &asking->error);
  while (!status && !atomic_load(&asking->is_over) && asking->n < MAX_ASKED) {
    const uint64_t begin_ns = time_now_ns();
    status = ask_once(&talk, asking->ask, asking->n, &asking->error);
    asking->ms[asking->n++] = (double)(time_now_ns() - begin_ns) * 1e-6;
    time_sleep(asking->ask == ASK_SET ? ASK_NS : RECALL_NS);
  }
  asking->has_failed = status;
  talk_close(&talk);
  return NULL;
}

// ---- a subscriber ----

/// Subscribe to all changes.  Nobody reads them: those that do not fit into the socket are lost.
static Status
subscribe(Client* const client, const Server* const server, Error* const error)
{
  static const char packet[] = "/server/notify\0\0,i\0\0\0\0\0\1";
  *client = (Client){ .fd = -1 };
  Status status = connect_client(client, server, error);
  if (!status && send(client->fd, packet, sizeof(packet) - 1U, 0) < 0) {
    status = error_set(error, STATUS_NET, "cannot subscribe: %s", strerror(errno));
  }
  return status;
}

static void
close_client(const Client* const client)
{
  if (client->fd >= 0) {
    close(client->fd);
  }
}

// ---- rows ----

static json_int_t
difference(const json_t* const before, const json_t* const after, const char* const key)
{
  return json_integer_value(json_object_get(after, key)) -
         json_integer_value(json_object_get(before, key));
}

/// Send, while the other client asks.
static Status
run_clients(Client* const client, const Server* const server, const double seconds,
            Figures* const figures, Error* const error)
{
  pthread_t thread;
  Asking asking = { .server = server,
                    .ask = client->row->ask,
                    .ms = calloc(MAX_ASKED, sizeof(double)) };
  if (!asking.ms || pthread_create(&thread, NULL, ask_run, &asking)) {
    free(asking.ms);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const double before_s = cpu_s(server);
  send_at_rate(client, seconds, figures);
  figures->cpu_s = cpu_s(server) - before_s;
  atomic_store(&asking.is_over, true);
  pthread_join(thread, NULL);
  figures->ask_ms = percentiles_of(asking.ms, asking.n);
  free(asking.ms);
  return asking.has_failed ? error_set(error, asking.error.status, "%s", asking.error.text)
                           : STATUS_OK;
}

static Status
measure(const Row* const row, const OscArgs* const args, const Server* const server,
        Figures* const figures, Error* const error)
{
  static Client client;
  static Client subscriber;
  client = (Client){
    .row = row, .n_nodes = args->n_nodes, .fd = -1, .is_tcp = strcmp(row->transport, "tcp") == 0
  };
  subscriber.fd = -1;
  Status status = connect_client(&client, server, error);
  if (!status && args->has_subscriber) {
    status = subscribe(&subscriber, server, error);
  }
  json_t* const before = status ? NULL : ask_status(server, error);
  if (before) {
    status = run_clients(&client, server, args->seconds, figures, error);
  }
  json_t* const after = before && !status ? ask_status(server, error) : NULL;
  status = after ? STATUS_OK : error->status;
  if (after) {
    figures->blocks = difference(before, after, "blocks");
    figures->late = difference(before, after, "late");
    figures->dropped =
        difference(before, after, "osc_dropped") + difference(before, after, "osc_lost");
  }
  json_decref(before);
  json_decref(after);
  close_client(&subscriber);
  close_client(&client);
  return status;
}

static json_t*
row_json(const Row* const row, const Figures* const figures)
{
  const double n = (double)figures->n_sent;
  const uint64_t n_answers = figures->n_done + figures->n_failed;
  return json_pack("{ss si sf sf sI sI sI sI sI sI sf sf sf}", "transport", row->transport,
                   "bundle", (int)row->n_together, "per_s",
                   figures->sent_s > 0.0 ? n / figures->sent_s : 0.0, "us",
                   n_answers ? 1e6 * figures->cpu_s / (double)n_answers : 0.0, "done",
                   (json_int_t)figures->n_done, "failed", (json_int_t)figures->n_failed, "missing",
                   (json_int_t)(figures->n_sent - n_answers), "dropped", figures->dropped, "blocks",
                   figures->blocks, "late", figures->late, "ms_p50", figures->ask_ms.p50, "ms_p99",
                   figures->ask_ms.p99, "ms_max", figures->ask_ms.max);
}

static Status
measure_all(const OscArgs* const args, BenchReport* const report, Error* const error)
{
  Server server;
  Status status = start(&server, args, error);
  for (uint32_t r = 0; r < ARRAY_LEN(rows) && !status; ++r) {
    Figures figures = { 0 };
    status = measure(&rows[r], args, &server, &figures, error);
    if (!status) {
      bench_report_row(report, row_json(&rows[r], &figures));
    }
  }
  stop(&server);
  return status;
}

static int
osc_run(const int argc, char** const argv)
{
  OscArgs args = {
    .program = "/proc/self/exe", .block_frames = 64, .n_nodes = 100, .seconds = 3.0
  };
  // clang-format off
  const Option table[] = {
    { "block",   'b', OPTION_INTEGER, "N",    16,      8192, .to.integer = &args.block_frames, .help = "Frames per block, default 64" },
    { "json",    'j', OPTION_FLAG,                           .to.flag = &args.json,            .help = "Print JSON" },
    { "nodes",   'n', OPTION_INTEGER, "N",     1, MAX_NODES, .to.integer = &args.n_nodes,      .help = "Gains in the rack, which the messages set in turn; default 100" },
    { "program", 'p', OPTION_TEXT,    "FILE",                .to.text = &args.program,         .help = "The program that is the server, to compare two versions; default this one" },
    { "seconds", 't', OPTION_NUMBER,  "S",   0.1,      3600, .to.number = &args.seconds,       .help = "Length of a row, default 3" },
    { "subscriber", 's', OPTION_FLAG,                        .to.flag = &args.has_subscriber,  .help = "Add a client that subscribes to all changes" },
  };
  static const BenchColumn columns[] = {
    { "transport", "transport", -9 }, { "bundle", "bundle", 6 },   { "per_s", "sets/s", 10 },
    { "us", "us/done", 7 },            { "done", "done", 8 },       { "failed", "failed", 7 },
    { "missing", "missing", 7 },      { "dropped", "dropped", 7 }, { "blocks", "blocks", 7 },
    { "late", "late", 5 },            { "ms_p50", "p50 ms", 7 },   { "ms_p99", "p99 ms", 7 },
    { "ms_max", "max ms", 7 },
  };
  // clang-format on
  const OptionTable options = { .options = table, .n_options = ARRAY_LEN(table) };
  Operands operands;
  if (!options_parse(&bench_osc, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  Error error = { STATUS_OK, "" };
  BenchReport report = { .bench = &bench_osc };
  json_t* const head = json_pack("{ss sI sI sf sb}", "bench", "osc", "block_frames",
                                 (json_int_t)args.block_frames, "nodes", (json_int_t)args.n_nodes,
                                 "seconds", args.seconds, "subscriber", (int)args.has_subscriber);
  Status status =
      bench_report_begin(&report, columns, ARRAY_LEN(columns), head, args.json, NULL, &error);
  status = status ? status : measure_all(&args, &report, &error);
  return bench_report_finish(&report, status, &error, NULL);
}
