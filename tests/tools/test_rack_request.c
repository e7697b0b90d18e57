// SPDX-License-Identifier: GPL-3.0-or-later
// A rack file is loaded or saved by one request over OSC at a time.  Its result is reported: done,
// refused, not answered, or not sent because liblo has no memory.

#include "engine/base/time.h"
#include "tests/support/failing_lo.h"
#include "tests/support/suite.h"
#include "tools/rack_request.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BEGIN_NS NS_PER_S

static RackRequest request;
static int server; // its socket
static char text[512];
static struct sockaddr_in client; // sender of the last request

static void
start_kind(const RackRequestKind kind)
{
  Peer own = { .n_bytes = sizeof(own.address) };
  const struct sockaddr_in any = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  server = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  ck_assert_int_eq(bind(server, (const struct sockaddr*)&any, sizeof(any)), 0);
  ck_assert_int_eq(getsockname(server, (struct sockaddr*)&own.address, &own.n_bytes), 0);
  OK(rack_request_open(&request, kind, &own, "a.rack", &error));
}

static void
start(void)
{
  start_kind(RACK_REQUEST_LOAD);
}

static void
stop(void)
{
  rack_request_close(&request);
  close(server);
}

static RackRequestNews
poll_request(const uint64_t now_ns)
{
  text[0] = '\0';
  return rack_request_poll(&request, now_ns, text, sizeof(text));
}

/// Receive a request to load a.rack as the server; false if there is none.
static bool
take_request(void)
{
  static const char load[28] = "/rack/load\0\0,s\0\0a.rack\0";
  char packet[256];
  socklen_t n_client = sizeof(client);
  const ssize_t n =
      recvfrom(server, packet, sizeof(packet), 0, (struct sockaddr*)&client, &n_client);
  ck_assert(n < 0 || (n == 24 && memcmp(packet, load, 24) == 0));
  return n > 0;
}

static void
answer(const char* const packet, const size_t n_bytes)
{
  ck_assert_int_gt(
      sendto(server, packet, n_bytes, 0, (const struct sockaddr*)&client, sizeof(client)), 0);
}

static void
answer_done(void)
{
  answer("/done\0\0\0,s\0\0/rack/load\0", 24);
}

/// Ask for a reload and expect that it is done.
static void
expect_done(const uint64_t now_ns)
{
  rack_request_want(&request);
  ck_assert_int_eq(poll_request(now_ns), RACK_REQUEST_NOTHING);
  ck_assert(take_request());
  answer_done();
  ck_assert_int_eq(poll_request(now_ns), RACK_REQUEST_DONE);
  ck_assert_str_eq(text, "a.rack has been read again");
  ck_assert(!rack_request_is_open(&request));
}

TEST(a_reload_is_done_or_refused_with_a_reason)
{
  start();
  expect_done(BEGIN_NS);
  rack_request_want(&request);
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_NOTHING);
  ck_assert(take_request());
  answer("/fail\0\0\0,sis\0\0\0\0/rack/load\0\0\0\0\0\2no\0", 36);
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_REFUSED);
  ck_assert_str_eq(text, "a.rack, as it is now, is refused: no");
  stop();
}

TEST(requests_during_a_reload_cause_one_more)
{
  start();
  rack_request_want(&request);
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_NOTHING);
  rack_request_want(&request);
  rack_request_want(&request);
  ck_assert(take_request() && !take_request());
  answer_done();
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_DONE);
  ck_assert(rack_request_is_open(&request));
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_NOTHING);
  ck_assert(take_request());
  answer_done();
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_DONE);
  ck_assert(!rack_request_is_open(&request));
  stop();
}

TEST(a_request_without_memory_is_reported)
{
  start();
  uint32_t n_good = 0;
  for (;; ++n_good) { // each call of liblo fails in turn
    rack_request_want(&request);
    failing_lo_arm(n_good);
    const RackRequestNews news = poll_request(BEGIN_NS);
    if (!failing_lo_disarm()) {
      break;
    }
    ck_assert_int_eq(news, RACK_REQUEST_REFUSED);
    ck_assert_str_eq(text, "cannot send the request to load a.rack: out of memory");
    ck_assert(!take_request());
  }
  ck_assert_uint_eq(n_good, 3); // create it, add its argument, serialise it
  ck_assert(take_request());
  stop();
}

TEST(after_a_lost_answer_the_next_reload_is_done)
{
  start();
  rack_request_want(&request);
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_NOTHING);
  ck_assert(take_request());
  answer_done();
  failing_lo_arm(0); // there is no memory to read it
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_NOTHING);
  ck_assert(failing_lo_disarm());
  ck_assert_int_eq(poll_request(BEGIN_NS + 10U * NS_PER_S), RACK_REQUEST_NOTHING);
  ck_assert_int_eq(poll_request(BEGIN_NS + 11U * NS_PER_S), RACK_REQUEST_LATE);
  ck_assert_str_eq(text, "a.rack: no answer");
  answer_done(); // too late: to a socket that is closed
  ck_assert_int_eq(poll_request(BEGIN_NS + 11U * NS_PER_S), RACK_REQUEST_NOTHING);
  expect_done(BEGIN_NS + 11U * NS_PER_S);
  stop();
}

TEST(a_request_without_a_socket_is_refused_and_not_the_last_one)
{
  start();
  rack_request_want(&request);
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_NOTHING);
  ck_assert(take_request());
  struct rlimit limit;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const struct rlimit none = { 0, limit.rlim_max };
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
  ck_assert_int_eq(poll_request(BEGIN_NS + 11U * NS_PER_S), RACK_REQUEST_LATE);
  rack_request_want(&request);
  ck_assert_int_eq(poll_request(BEGIN_NS + 11U * NS_PER_S), RACK_REQUEST_REFUSED);
  assert_says(text, "cannot reach the OSC port to load a.rack: Too many open files");
  ck_assert(!rack_request_is_open(&request));
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  expect_done(BEGIN_NS + 11U * NS_PER_S);
  stop();
}

TEST(a_rack_is_saved)
{
  static const char save[24] = "/rack/save\0\0,s\0\0a.rack\0";
  char packet[256];
  socklen_t n_client = sizeof(client);
  start_kind(RACK_REQUEST_SAVE);
  rack_request_want(&request);
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_NOTHING);
  ck_assert_int_eq(
      recvfrom(server, packet, sizeof(packet), 0, (struct sockaddr*)&client, &n_client), 24);
  ck_assert_mem_eq(packet, save, 24);
  answer("/fail\0\0\0,sis\0\0\0\0/rack/save\0\0\0\0\0\2no\0", 36);
  ck_assert_int_eq(poll_request(BEGIN_NS), RACK_REQUEST_REFUSED);
  ck_assert_str_eq(text, "a.rack cannot be saved: no");
  stop();
}

SUITE_MAIN("rack_request")
