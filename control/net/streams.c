// SPDX-License-Identifier: GPL-3.0-or-later
// Accepts, reads, writes and closes TCP connections.  The number of a connection contains its index
// in the table, so that it is found without a search, and is never used again.

#include "streams.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Read from all connections together in one round: some hundred messages, and at most 8192 of the
// smallest packets, which take about 8 ms.
#define CHUNK_BYTES    (16U << 10U)
#define FLUSH_BYTES    (16U << 10U) // sent at once; less is sent at the end of the round
#define KERNEL_BYTES   (128 << 10)  // of the kernel's buffers of a connection, which doubles it
#define N_BACKLOG      STREAMS_MAX  // connections that wait to be accepted
#define ACCEPT_WAIT_NS (250U * NS_PER_MS)
// The kernel asks an idle client whether it is there, and ends the connection of one that has
// acknowledged nothing for GONE_MS: four lost questions.
#define KEEP_IDLE_S     10
#define KEEP_INTERVAL_S 5
#define GONE_MS         30000

struct StreamBuffers {
  FramingReader reader;
  uint8_t out[STREAM_OUT_BYTES];
};

static bool
is_open(const Stream* const stream)
{
  return stream->buffers;
}

/// Close a connection.  Its entry stays until forget_closed(), which reports it: this function may
/// be called while the caller iterates over clients.
static void
close_stream(Stream* const stream)
{
  close(stream->fd);
  free(stream->buffers);
  stream->buffers = NULL;
  stream->n_out = 0;
}

/// Note why a connection is refused or closed.
static void
note(Streams* const streams, const Peer* const peer, const WatchVerdict verdict,
     const char* const reason)
{
  const WatchNote note = { verdict, "tcp", SIZE_MAX, 0, reason };
  watch_note(streams->watch, streams->now_ns, peer, &note);
}

static void
close_slow(Streams* const streams, Stream* const stream, const char* const reason)
{
  ++streams->slow;
  note(streams, &stream->peer, WATCH_REFUSED, reason);
  close_stream(stream);
}

/// Close a connection after an error.  The kernel ends it with ETIMEDOUT if the client does not
/// acknowledge what it gets.
static void
close_failed(Streams* const streams, Stream* const stream, const int code)
{
  streams->slow += code == ETIMEDOUT;
  close_stream(stream);
}

/// Report the connections that have ended, and free their entries.
static void
forget_closed(Streams* const streams)
{
  for (uint32_t s = 0; s < STREAMS_MAX; ++s) {
    Stream* const stream = &streams->items[s];
    if (!is_open(stream) && stream->peer.connection) {
      streams->closed(streams->context, &stream->peer);
      stream->peer.connection = 0;
    }
  }
}

// ---- output ----

/// Send as much of the output as the kernel takes.
static void
flush(Streams* const streams, Stream* const stream)
{
  const ssize_t n = send(stream->fd, stream->buffers->out + stream->out_begin, stream->n_out,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    close_failed(streams, stream, errno);
    return;
  }
  const size_t n_sent = n > 0 ? (size_t)n : 0U;
  stream->out_begin += n_sent;
  stream->n_out -= n_sent;
  if (stream->n_out == 0U) {
    stream->out_begin = 0;
    stream->waits_ns = 0;
  } else if (stream->waits_ns == 0U) {
    stream->waits_ns = streams->now_ns;
  }
}

static Stream*
find_stream(Streams* const streams, const Peer* const peer)
{
  Stream* const stream = &streams->items[peer->connection % STREAMS_MAX];
  return is_open(stream) && stream->peer.connection == peer->connection ? stream : NULL;
}

bool
streams_has(Streams* const streams, const Peer* const peer)
{
  return find_stream(streams, peer);
}

bool
streams_send(Streams* const streams, const Peer* const to, const void* const packet,
             const size_t n_bytes)
{
  Stream* const stream = find_stream(streams, to);
  const Framing framing = stream ? stream->buffers->reader.framing : FRAMING_UNKNOWN;
  if (framing == FRAMING_UNKNOWN) {
    return false;
  }
  uint8_t* const out = stream->buffers->out;
  const size_t n_framed = framing_size(framing, packet, n_bytes);
  if (n_framed > STREAM_OUT_BYTES - stream->n_out) {
    return false;
  }
  if (stream->out_begin + stream->n_out + n_framed > STREAM_OUT_BYTES) {
    memmove(out, out + stream->out_begin, stream->n_out);
    stream->out_begin = 0;
  }
  framing_write(framing, packet, n_bytes, out + stream->out_begin + stream->n_out);
  stream->n_out += n_framed;
  if (stream->n_out >= FLUSH_BYTES && stream->waits_ns == 0U) {
    flush(streams, stream);
  }
  return true;
}

void
streams_close_slow(Streams* const streams, const Peer* const peer)
{
  Stream* const stream = find_stream(streams, peer);
  if (stream) {
    close_slow(streams, stream, "closed: the client does not read its news");
  }
}

// ---- input ----

static bool
is_half_full(const Stream* const stream)
{
  return stream->n_out > STREAM_OUT_BYTES / 2U;
}

bool
streams_is_full(Streams* const streams, const Peer* const peer)
{
  const Stream* const stream = find_stream(streams, peer);
  return stream && is_half_full(stream);
}

static bool
may_read(const Stream* const stream, Senders* const senders)
{
  return !stream->has_ended && !is_half_full(stream) &&
         senders_n_bytes(senders, &stream->peer) < STREAM_QUEUE_BYTES;
}

/// Queue the packets in bytes that have arrived.  Returns false if their framing is invalid.
static bool
queue_packets(Streams* const streams, Stream* const stream, Senders* const senders,
              const uint8_t* bytes, size_t n_bytes)
{
  FramingReader* const reader = &stream->buffers->reader;
  FramingResult result = FRAMING_PACKET;
  while (n_bytes && result == FRAMING_PACKET) {
    size_t n_read = 0;
    size_t n_packet = 0;
    result = framing_read(reader, bytes, n_bytes, &n_read, &n_packet);
    bytes += n_read;
    n_bytes -= n_read;
    if (result == FRAMING_PACKET) {
      ++streams->packets;
      senders_put(senders, &stream->peer, streams->now_ns, reader->bytes, n_packet);
      stream->begun_ns = 0;
    }
  }
  if (framing_is_inside(reader) && stream->begun_ns == 0U) {
    stream->begun_ns = streams->now_ns;
  }
  return result != FRAMING_INVALID;
}

/// Read from a connection, which pays for the time.
static void
read_stream(Streams* const streams, Stream* const stream, Senders* const senders)
{
  uint8_t chunk[CHUNK_BYTES];
  const uint64_t begin_ns = time_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const size_t n_most = CHUNK_BYTES / streams_count(streams);
  const ssize_t n = recv(stream->fd, chunk, n_most, MSG_DONTWAIT);
  if (n > 0) {
    if (!queue_packets(streams, stream, senders, chunk, (size_t)n)) {
      ++streams->refused;
      note(streams, &stream->peer, WATCH_REFUSED,
           "closed: the data is framed neither by sizes nor by SLIP");
      close_stream(stream);
    }
  } else if (n == 0) {
    stream->has_ended = true;
    stream->ended_ns = streams->now_ns;
    stream->begun_ns = 0;
  } else if (errno != EAGAIN && errno != EINTR) {
    close_failed(streams, stream, errno);
  }
  senders_charge_peer(senders, &stream->peer, streams->now_ns,
                      time_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
}

/// Handle what ppoll(2) has reported of a connection.
static void
serve_stream(Streams* const streams, Stream* const stream, Senders* const senders,
             const short events)
{
  if (stream->has_ended && events & (POLLERR | POLLHUP)) {
    close_stream(stream);
    return;
  }
  if (events & POLLOUT) {
    flush(streams, stream);
  }
  if (is_open(stream) && events & (POLLIN | POLLERR | POLLHUP)) {
    read_stream(streams, stream, senders);
  }
}

static bool
has_passed(const uint64_t since_ns, const uint64_t now_ns)
{
  return since_ns && now_ns - since_ns >= STREAM_LIMIT_NS;
}

static void
check_limits(Streams* const streams, Stream* const stream)
{
  if (!is_open(stream)) {
    return;
  }
  const uint64_t now_ns = streams->now_ns;
  if (has_passed(stream->waits_ns, now_ns)) {
    close_slow(streams, stream, "closed: the client has not read for 10 s");
  } else if (has_passed(stream->begun_ns, now_ns)) {
    close_slow(streams, stream, "closed: the client has begun a packet and not ended it for 10 s");
  } else if (has_passed(stream->ended_ns, now_ns)) {
    close_stream(stream);
  }
}

// ---- connections ----

/// Close the connection whose client has ended its side for longest: of an address, or of any
/// (NULL).
static void
make_place(Streams* const streams, const Peer* const of)
{
  Stream* oldest = NULL;
  for (uint32_t s = 0; s < STREAMS_MAX; ++s) {
    Stream* const stream = &streams->items[s];
    if (is_open(stream) && stream->has_ended && (!of || peer_machine_equal(&stream->peer, of)) &&
        (!oldest || stream->ended_ns < oldest->ended_ns)) {
      oldest = stream;
    }
  }
  if (oldest) {
    close_stream(oldest);
    forget_closed(streams);
  }
}

static uint32_t
count_of(const Streams* const streams, const Peer* const peer)
{
  uint32_t n = 0;
  for (uint32_t s = 0; s < STREAMS_MAX; ++s) {
    n += is_open(&streams->items[s]) && peer_machine_equal(&streams->items[s].peer, peer);
  }
  return n;
}

/// Find a free entry for a client; NULL if there is none.
static Stream*
find_place(Streams* const streams, const Peer* const peer)
{
  if (count_of(streams, peer) == STREAMS_PER_MACHINE) {
    make_place(streams, peer);
  } else if (streams_count(streams) == STREAMS_MAX) {
    make_place(streams, NULL);
  }
  if (count_of(streams, peer) == STREAMS_PER_MACHINE) {
    return NULL;
  }
  for (uint32_t s = 0; s < STREAMS_MAX; ++s) {
    if (!is_open(&streams->items[s])) {
      return &streams->items[s];
    }
  }
  return NULL;
}

/// Answers leave at once, and a machine that disappears ends its connection.
static void
set_options(const int fd)
{
  static const int options[][3] = { { IPPROTO_TCP, TCP_NODELAY, 1 },
                                    { SOL_SOCKET, SO_KEEPALIVE, 1 },
                                    { IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
                                    { IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S },
                                    { IPPROTO_TCP, TCP_USER_TIMEOUT, GONE_MS } };
  for (uint32_t o = 0; o < ARRAY_LEN(options); ++o) {
    (void)setsockopt(fd, options[o][0], options[o][1], &options[o][2], sizeof(int));
  }
}

/// Refuse a connection.  Its note has port 0: those of a client that tries again are one line.
static void
refuse(Streams* const streams, const int fd, const Peer* const peer)
{
  const bool is_allowed = allow_has(streams->allow, peer);
  Peer host = *peer;
  peer_set_port(&host, 0);
  streams->forbidden += !is_allowed;
  streams->refused += is_allowed;
  note(streams, &host, is_allowed ? WATCH_REFUSED : WATCH_FORBIDDEN,
       !is_allowed                                      ? "--osc-allow does not list this machine"
       : count_of(streams, peer) == STREAMS_PER_MACHINE ? "its machine has 8 connections already"
       : streams_count(streams) == STREAMS_MAX          ? "32 connections are open already"
                                                        : "out of memory");
  close(fd);
}

/// Take a connection that was accepted, or refuse it: NULL.
static Stream*
take_connection(Streams* const streams, const int fd, const Peer* const peer)
{
  const bool is_allowed = allow_has(streams->allow, peer);
  Stream* const stream = is_allowed ? find_place(streams, peer) : NULL;
  struct StreamBuffers* const buffers = stream ? calloc(1, sizeof(*buffers)) : NULL;
  if (!buffers) {
    refuse(streams, fd, peer);
    return NULL;
  }
  const uint64_t index = (uint64_t)(stream - streams->items);
  set_options(fd);
  *stream = (Stream){ .fd = fd, .peer = *peer, .buffers = buffers };
  stream->peer.connection = ++streams->serial * STREAMS_MAX + index;
  return stream;
}

/// Accept the connection that has waited for longest; the others wait for the next rounds.  One
/// that has arrived since ppoll(2) may be of a client that has ended another one before, and this
/// end is only found in the next round.
static void
accept_one(Streams* const streams, Senders* const senders, const int listener)
{
  const uint64_t begin_ns = time_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  Peer peer = { .n_bytes = sizeof(peer.address) };
  const int fd = accept4(listener, (struct sockaddr*)&peer.address, &peer.n_bytes,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    const Stream* const stream = take_connection(streams, fd, &peer);
    senders_charge_peer(senders, stream && peer_is_loopback(&peer) ? &stream->peer : &peer,
                        streams->now_ns, time_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
  } else if (errno != EAGAIN && errno != ECONNABORTED) {
    // Out of open files, for example: the connection waits, and this thread must not spin.
    streams->accept_ns = streams->now_ns + ACCEPT_WAIT_NS;
  }
}

// ---- rounds ----

/// Send output, and find out what to wait for.
static short
prepare_stream(Streams* const streams, Stream* const stream, Senders* const senders)
{
  if (stream->n_out && stream->waits_ns == 0U) {
    flush(streams, stream);
  }
  const bool may = is_open(stream) && may_read(stream, senders);
  stream->begun_ns = may || !stream->begun_ns ? stream->begun_ns : streams->now_ns;
  return (short)((may ? POLLIN : 0) | (stream->n_out ? POLLOUT : 0));
}

uint32_t
streams_prepare(Streams* const streams, Senders* const senders, const uint64_t now_ns,
                struct pollfd fds[const STREAMS_POLLED])
{
  uint32_t n = 0;
  streams->now_ns = now_ns;
  for (; n < STREAMS_LISTENERS; ++n) {
    const bool may_accept = now_ns >= streams->accept_ns;
    fds[n] = (struct pollfd){ may_accept ? streams->listeners[n] : -1, POLLIN, 0 };
  }
  for (uint32_t s = 0; s < STREAMS_MAX; ++s) {
    Stream* const stream = &streams->items[s];
    const short events = (short)(is_open(stream) ? prepare_stream(streams, stream, senders) : 0);
    if (is_open(stream)) {
      fds[n++] = (struct pollfd){ stream->fd, events, 0 };
    }
  }
  return n;
}

void
streams_serve(Streams* const streams, Senders* const senders, const uint64_t now_ns,
              const struct pollfd fds[const STREAMS_POLLED])
{
  const struct pollfd* next = &fds[STREAMS_LISTENERS];
  streams->now_ns = now_ns;
  for (uint32_t s = 0; s < STREAMS_MAX; ++s) {
    Stream* const stream = &streams->items[s];
    if (is_open(stream)) { // as in streams_prepare()
      serve_stream(streams, stream, senders, (next++)->revents);
      check_limits(streams, stream);
    }
  }
  forget_closed(streams);
  for (uint32_t l = 0; l < STREAMS_LISTENERS; ++l) {
    if (fds[l].revents) {
      accept_one(streams, senders, streams->listeners[l]);
    }
  }
}

uint32_t
streams_count(const Streams* const streams)
{
  uint32_t n = 0;
  for (uint32_t s = 0; s < STREAMS_MAX; ++s) {
    n += is_open(&streams->items[s]);
  }
  return n;
}

// ---- begin and end ----

int
streams_listen(const Peer* const at)
{
  const int fd = socket(at->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return -1;
  }
  const int on = 1; // the port is free although connections of an earlier server are closing
  const int n_bytes = KERNEL_BYTES;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n_bytes, sizeof(n_bytes)); // of its connections
  (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n_bytes, sizeof(n_bytes));
  if (bind(fd, (const struct sockaddr*)&at->address, at->n_bytes) != 0 ||
      listen(fd, N_BACKLOG) != 0) {
    const int code = errno;
    close(fd);
    errno = code;
    return -1;
  }
  return fd;
}

void
streams_init(Streams* const streams, const Allow* const allow, Watch* const watch,
             const StreamClosed closed, void* const context)
{
  *streams = (Streams){ .allow = allow, .watch = watch, .closed = closed, .context = context };
  for (uint32_t l = 0; l < STREAMS_LISTENERS; ++l) {
    streams->listeners[l] = -1;
  }
}

void
streams_clear(Streams* const streams)
{
  for (uint32_t s = 0; s < STREAMS_MAX; ++s) {
    if (is_open(&streams->items[s])) {
      close_stream(&streams->items[s]);
    }
  }
  for (uint32_t l = 0; l < STREAMS_LISTENERS; ++l) {
    if (streams->listeners[l] >= 0) {
      close(streams->listeners[l]);
      streams->listeners[l] = -1;
    }
  }
}
