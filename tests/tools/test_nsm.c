// SPDX-License-Identifier: GPL-3.0-or-later
// The client of a session manager reads NSM_URL, announces itself, and reads orders only from the
// manager.  Packets of any other kind have no effect.

#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tools/nsm.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static Nsm nsm = { .socket = -1 };
static NsmProject project;
static char text[NSM_TEXT_BYTES];
static int manager = -1;
static struct sockaddr_in client; // sender of the last packet to the manager

static int
open_socket(uint16_t* const port)
{
  struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n_bytes = sizeof(own);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&own, n_bytes), 0);
  ck_assert_int_eq(getsockname(fd, (struct sockaddr*)&own, &n_bytes), 0);
  *port = ntohs(own.sin_port);
  return fd;
}

/// Start a manager and a client, which announces itself.
static void
start(void)
{
  uint16_t port = 0;
  char url[64];
  manager = open_socket(&port);
  snprintf(url, sizeof(url), "osc.udp://localhost:%u/", port);
  OK(nsm_open(&nsm, url, &error));
  nsm_announce(&nsm, "./program");
}

static void
stop(void)
{
  nsm_close(&nsm);
  if (manager >= 0) {
    close(manager);
  }
}

/// The manager expects a packet.
static void
expect(const char* const packet, const size_t n_bytes)
{
  char got[1024];
  socklen_t n_client = sizeof(client);
  const ssize_t n = recvfrom(manager, got, sizeof(got), 0, (struct sockaddr*)&client, &n_client);
  ck_assert_int_eq(n, (ssize_t)n_bytes);
  ck_assert_mem_eq(got, packet, n_bytes);
}

static void
send_to_client(const int from, const void* const packet, const size_t n_bytes)
{
  ck_assert_int_eq(
      sendto(from, packet, n_bytes, 0, (const struct sockaddr*)&client, sizeof(client)),
      (ssize_t)n_bytes);
}

static NsmNews
receive(void)
{
  text[0] = '\0';
  return nsm_receive(&nsm, &project, text);
}

/// Begin an exchange: the manager knows the client's address.
static void
take_announcement(void)
{
  char got[1024];
  socklen_t n_client = sizeof(client);
  ck_assert_int_gt(recvfrom(manager, got, sizeof(got), 0, (struct sockaddr*)&client, &n_client), 0);
}

#define PACKET(literal) literal, sizeof(literal) - 1U

TEST(the_client_announces_itself)
{
  char packet[] = "/nsm/server/announce\0\0\0\0"
                  ",sssiii\0"
                  "warprack\0\0\0\0"
                  ":switch:dirty:message:\0\0"
                  "./program\0\0\0"
                  "\0\0\0\1\0\0\0\1\0\0\0"; // and the process id
  const uint32_t pid = htonl((uint32_t)getpid());
  memcpy(packet + sizeof(packet) - 4U, &pid, sizeof(pid));
  start();
  expect(packet, sizeof(packet));
  stop();
}

TEST(the_manager_answers_and_orders)
{
  start();
  take_announcement();
  ck_assert_int_eq(receive(), NSM_NOTHING);
  send_to_client(manager, PACKET("/reply\0\0,ssss\0\0\0/nsm/server/announce\0\0\0\0hello\0\0\0"
                                 "Mana\33[ger\0\0\0\0:x:\0"));
  ck_assert_int_eq(receive(), NSM_NOTHING); // a control character
  send_to_client(manager, PACKET("/reply\0\0,ssss\0\0\0/nsm/server/announce\0\0\0\0hello\0\0\0"
                                 "Manager\0:x:\0"));
  ck_assert_int_eq(receive(), NSM_ACCEPTED);
  ck_assert_str_eq(text, "Manager");
  send_to_client(
      manager, PACKET("/error\0\0,sis\0\0\0\0/nsm/server/announce\0\0\0\0\377\377\377\376no\0\0"));
  ck_assert_int_eq(receive(), NSM_REFUSED);
  ck_assert_str_eq(text, "no");
  send_to_client(manager,
                 PACKET("/nsm/client/open\0\0\0\0,sss\0\0\0\0/tmp/x\0\0song\0\0\0\0x.nA\0\0\0\0"));
  ck_assert_int_eq(receive(), NSM_OPEN);
  ck_assert_str_eq(project.path, "/tmp/x");
  ck_assert_str_eq(project.display, "song");
  ck_assert_str_eq(project.client, "x.nA");
  send_to_client(manager, PACKET("/nsm/client/save\0\0\0\0,\0\0\0"));
  ck_assert_int_eq(receive(), NSM_SAVE);
  send_to_client(manager, PACKET("/nsm/client/session_is_loaded\0\0\0,\0\0\0"));
  ck_assert_int_eq(receive(), NSM_NOTHING);
  stop();
}

TEST(the_client_answers)
{
  start();
  take_announcement();
  nsm_reply(&nsm, NSM_ADDRESS_SAVE, "done");
  expect(PACKET("/reply\0\0,ss\0/nsm/client/save\0\0\0\0done\0\0\0\0"));
  nsm_fail(&nsm, NSM_ADDRESS_OPEN, NSM_NOT_NOW, "no");
  expect(PACKET("/error\0\0,sis\0\0\0\0/nsm/client/open\0\0\0\0\377\377\377\370no\0\0"));
  nsm_tell_dirty(&nsm, true);
  expect(PACKET("/nsm/client/is_dirty\0\0\0\0,\0\0\0"));
  nsm_tell_dirty(&nsm, false);
  expect(PACKET("/nsm/client/is_clean\0\0\0\0,\0\0\0"));
  nsm_tell(&nsm, 3, "!");
  expect(PACKET("/nsm/client/message\0,is\0\0\0\0\3!\0\0\0"));
  stop();
}

TEST(other_packets_have_no_effect)
{
  static const char save[] = "/nsm/client/save\0\0\0\0,\0\0";
  static char large[20000] = "/nsm/client/save";
  uint16_t port = 0;
  start();
  take_announcement();
  const int stranger = open_socket(&port);
  send_to_client(stranger, save, sizeof(save));
  for (size_t n = 0; n < sizeof(save); ++n) {
    send_to_client(manager, save, n);
  }
  send_to_client(manager, large, sizeof(large));
  send_to_client(manager, PACKET("/nsm/client/open\0\0\0\0,ss\0/tmp/x\0\0song\0\0\0\0"));
  send_to_client(manager, PACKET("/nsm/client/open\0\0\0\0,iii\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\1"));
  send_to_client(manager, PACKET("/reply\0\0,s\0\0/nsm/server/announce\0\0\0\0"));
  send_to_client(manager,
                 PACKET("#bundle\0\0\0\0\0\0\0\0\1\0\0\0\30/nsm/client/save\0\0\0\0,\0\0\0"));
  ck_assert_int_eq(receive(), NSM_NOTHING);
  ck_assert_int_eq(receive(), NSM_NOTHING);
  send_to_client(manager, save, sizeof(save));
  ck_assert_int_eq(receive(), NSM_SAVE);
  close(stranger);
  stop();
}

TEST(a_manager_that_ends_is_gone)
{
  start();
  ck_assert(!nsm_is_gone(&nsm));
  close(manager);
  manager = -1;
  ck_assert(nsm_is_gone(&nsm));
  nsm_tell_dirty(&nsm, true); // to nobody
  ck_assert_int_eq(receive(), NSM_NOTHING);
  stop();
}

static const char* const wrong_urls[] = {
  "x",
  "osc.tcp://localhost:1/",
  "osc.udp://",
  "osc.udp://localhost/",
  "osc.udp://localhost:0/",
  "osc.udp://localhost:99999/",
  "osc.udp://localhost:1,localhost:2/",
  "osc.udp://:1/",
};

TEST_ROWS(a_wrong_url_is_refused, wrong_urls)
{
  Error error;
  ck_assert_int_eq(nsm_open(&nsm, wrong_urls[row], &error), STATUS_BAD_ARG);
  assert_says(error.text, "NSM_URL");
  ck_assert_int_eq(nsm.socket, -1);
}

TEST(the_manager_may_have_another_address)
{
  OK(nsm_open(&nsm, "osc.udp://127.0.1.1:9/", &error)); // as Debian's /etc/hosts names a machine
  ck_assert(nsm.is_local);
  nsm_close(&nsm);
}

/// Whether this machine has the loopback address of IPv6.
static bool
has_ip6(void)
{
  const struct sockaddr_in6 own = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
  SCOPED_FD const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  return fd >= 0 && !bind(fd, (const struct sockaddr*)&own, sizeof(own));
}

TEST(the_manager_may_have_an_address_of_IPv6)
{
  if (!has_ip6()) {
    suite_skip("no IPv6");
    return;
  }
  OK(nsm_open(&nsm, "osc.udp://[::1]:9/", &error));
  ck_assert(nsm.is_local);
  nsm_close(&nsm);
}

SUITE_MAIN("nsm")
