// SPDX-License-Identifier: GPL-3.0-or-later
// The program reports its state to a service manager as sd_notify(3) does: ready, alive, stopping.
// It sends the watchdog message at half of the watchdog's time, and only if control, callback and
// worker have made progress.

#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tools/service.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static int manager = -1;
static Service service;
static Error error;

/// Play the service manager: listen at the socket `name`; a name with "@" is abstract.
static void
listen_at(const char* const name)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  strncpy(address.sun_path, name, sizeof(address.sun_path) - 1U);
  const socklen_t n_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
  if (name[0] == '@') {
    address.sun_path[0] = '\0';
  }
  manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(manager, (struct sockaddr*)&address, n_bytes), 0);
  setenv("NOTIFY_SOCKET", name, 1);
}

/// The next message; "" if there is none.
static const char*
notification(void)
{
  static char text[1024];
  const ssize_t n = recv(manager, text, sizeof(text) - 1U, 0);
  text[n < 0 ? 0 : n] = '\0';
  return text;
}

static void
open_service(const char* const watchdog_usec)
{
  char name[64];
  snprintf(name, sizeof(name), "@warprack-test-%ld", (long)getpid());
  listen_at(name);
  if (watchdog_usec) {
    setenv("WATCHDOG_USEC", watchdog_usec, 1);
  }
  ck_assert_msg(!service_open(&service, &error), "%s", error.text);
}

static void
close_service(void)
{
  service_close(&service);
  close(manager);
}

static const IoStatus running = {
  .state = IO_STATE_RUNNING, .rate_hz = 48000.0, .block_frames = 64, .device = "card"
};
static const IoStatus waiting = { .state = IO_STATE_WAITING };
static const EngineStatus engine = { .latency_frames = 64, .n_nodes = 3, .backend = "cpu" };

TEST(without_a_service_manager_nothing_is_sent)
{
  unsetenv("NOTIFY_SOCKET");
  setenv("WATCHDOG_USEC", "1000000", 1); // inherited, without a service manager
  ck_assert(!service_open(&service, &error));
  ck_assert_uint_eq(service.socket.watchdog_ns, 0);
  const VitalSigns signs = { .has_audio = true, .has_worker = true };
  service_ready(&service, &signs, 0);
  service_poll(&service, &signs, "dummy", &running, &engine, 100U * S);
  service_stopping(&service, "test");
  service_close(&service);
}

TEST(the_service_manager_is_notified_of_start_and_end)
{
  open_service(NULL);
  ck_assert_ptr_null(getenv("NOTIFY_SOCKET")); // child processes must not inherit it
  const VitalSigns signs = { .has_audio = true, .has_worker = true };
  service_slow_start(&service, "measuring", S);
  service_slow_start(&service, "measuring more", S + 999U * MS); // within a second: no message
  ck_assert_str_eq(notification(), "EXTEND_TIMEOUT_USEC=120000000\nSTATUS=measuring");
  service_slow_start(&service, "measuring on", 2U * S);
  ck_assert_str_eq(notification(), "EXTEND_TIMEOUT_USEC=120000000\nSTATUS=measuring on");
  service_ready(&service, &signs, 0);
  ck_assert_str_eq(notification(), "READY=1");
  service_slow_start(&service, "a later worker measures", 9U * S);
  service_reloading(&service, 5U * MS);
  ck_assert_str_eq(notification(), "RELOADING=1\nMONOTONIC_USEC=5000");
  service_reloaded(&service);
  ck_assert_str_eq(notification(), "READY=1");
  service_stopping(&service, "terminated");
  ck_assert_str_eq(notification(), "STOPPING=1\nSTATUS=stopping (terminated)");
  close_service();
}

TEST(a_lost_service_manager_is_reported_once_and_its_watchdog_is_not_fed)
{
  open_service("1000000");
  VitalSigns signs = { .has_audio = true, .has_worker = true };
  service_ready(&service, &signs, 0);
  ck_assert(!service_is_lost(&service, &error));
  close(manager);
  signs = (VitalSigns){ true, true, 1, 1, 1 };
  service_poll(&service, &signs, "dummy", &running, &engine, S);
  ck_assert(service_is_lost(&service, &error));
  assert_says(error.text, "refused");
  ck_assert(!service_is_lost(&service, &error));
  ck_assert_uint_eq(service.n_fed, 0);
  service_close(&service);
}

TEST(no_text_adds_an_assignment_of_its_own)
{
  open_service(NULL);
  service_slow_start(&service, "GPU\nMAINPID=1", S);
  ck_assert_str_eq(notification(), "EXTEND_TIMEOUT_USEC=120000000\nSTATUS=GPU?MAINPID=1");
  IoStatus io = running;
  strcpy(io.device, "card\nREADY=0");
  const VitalSigns signs = { .has_audio = true };
  service_poll(&service, &signs, "dummy", &io, &engine, S);
  ck_assert_str_eq(notification(),
                   "STATUS=dummy (card?READY=0): 48000 Hz, 64 frames, latency 64, 3 nodes on cpu");
  close_service();
}

TEST(a_socket_may_be_a_file)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  listen_at(scratch_path(&scratch, "notify"));
  ck_assert(!service_open(&service, &error));
  ck_assert(notify_socket_send(&service.socket, "READY=1"));
  ck_assert_str_eq(notification(), "READY=1");
  close_service();
}

TEST(an_invalid_socket_is_refused)
{
  setenv("NOTIFY_SOCKET", "vsock:2:1", 1);
  ck_assert_int_eq(service_open(&service, &error), STATUS_NET);
  assert_says(error.text, "vsock:2:1");
  service_close(&service);
}

TEST(a_watchdog_of_another_process_is_ignored)
{
  setenv("WATCHDOG_PID", "1", 1);
  open_service("1000000");
  ck_assert_uint_eq(service.socket.watchdog_ns, 0);
  close_service();
  char own[16];
  snprintf(own, sizeof(own), "%ld", (long)getpid());
  setenv("WATCHDOG_PID", own, 1);
  open_service("1000000");
  ck_assert_uint_eq(service.socket.watchdog_ns, S);
  close_service();
}

TEST(a_new_status_is_sent_at_most_once_a_second)
{
  open_service(NULL);
  const VitalSigns signs = { .has_audio = true, .has_worker = true };
  service_poll(&service, &signs, "jack", &running, &engine, S);
  ck_assert_str_eq(notification(),
                   "STATUS=jack (card): 48000 Hz, 64 frames, latency 64, 3 nodes on cpu");
  service_poll(&service, &signs, "jack", &waiting, &engine, S + 10U * MS);
  ck_assert_str_eq(notification(), "");
  service_poll(&service, &signs, "jack", &waiting, &engine, 2U * S);
  ck_assert_str_eq(notification(), "STATUS=waiting for jack");
  service_poll(&service, &signs, "jack", &waiting, &engine, 9U * S);
  ck_assert_str_eq(notification(), "");
  close_service();
}

/// Call service_poll() with these counters at this time.  Returns whether it sent a watchdog
/// message.
static bool
is_fed(const VitalSigns* const signs, const uint64_t now_ns)
{
  bool fed = false;
  service_poll(&service, signs, "dummy", signs->has_audio ? &running : &waiting, &engine, now_ns);
  for (const char* text = notification(); text[0]; text = notification()) {
    fed = fed || !strcmp(text, "WATCHDOG=1");
  }
  return fed;
}

TEST(the_watchdog_is_fed_at_half_of_its_time)
{
  open_service("10000000");
  VitalSigns signs = { .has_audio = true, .has_worker = true };
  service_ready(&service, &signs, 0);
  unsigned n_fed = 0;
  for (uint64_t now_ns = 0; now_ns <= 60U * S; now_ns += 50U * MS) {
    signs = (VitalSigns){ true, true, now_ns, now_ns, now_ns };
    n_fed += is_fed(&signs, now_ns);
  }
  ck_assert_uint_eq(n_fed, 12);
  close_service();
}

TEST(the_watchdog_starves_when_one_part_does_nothing)
{
  static const char* const words[] = { "control", "callback", "worker" };
  for (int part = 0; part < 3; ++part) {
    open_service("10000000");
    VitalSigns signs = { .has_audio = true, .has_worker = true };
    service_ready(&service, &signs, 0);
    uint64_t now_ns = 0;
    for (; now_ns < 60U * S; now_ns += 50U * MS) {
      signs.control_rounds += part != 0;
      signs.callback_blocks += part != 1;
      signs.worker_blocks += part != 2;
      ck_assert_msg(!is_fed(&signs, now_ns), "watchdog message without %s, at %g s", words[part],
                    (double)now_ns * 1e-9);
    }
    ck_assert_uint_eq(service.n_fed, 0);
    signs.control_rounds += part == 0; // this part was the only one that had done nothing
    signs.callback_blocks += part == 1;
    signs.worker_blocks += part == 2;
    ck_assert_msg(is_fed(&signs, now_ns), "no watchdog message with %s again", words[part]);
    signs = (VitalSigns){ true, true, UINT64_MAX, UINT64_MAX, UINT64_MAX }; // all parts work again
    ck_assert(is_fed(&signs, now_ns + 5U * S));
    close_service();
  }
}

TEST(while_waiting_for_audio_only_the_control_thread_counts)
{
  open_service("10000000");
  VitalSigns signs = { .has_audio = false, .has_worker = true };
  service_ready(&service, &signs, 0);
  signs.control_rounds = 1;
  ck_assert(is_fed(&signs, 5U * S));
  ck_assert(!is_fed(&signs, 10U * S));
  signs.control_rounds = 2;
  ck_assert(is_fed(&signs, 15U * S));
  signs.control_rounds = 3;
  signs.has_audio = true; // audio is back, but the callback makes no progress
  ck_assert(!is_fed(&signs, 20U * S));
  close_service();
}

TEST(a_worker_that_is_being_restarted_does_not_count)
{
  open_service("10000000");
  VitalSigns signs = { .has_audio = true, .has_worker = false };
  service_ready(&service, &signs, 0);
  signs.control_rounds = signs.callback_blocks = 1;
  ck_assert(is_fed(&signs, 5U * S));
  signs.control_rounds = signs.callback_blocks = 2;
  signs.has_worker = true; // the worker is back, but makes no progress
  ck_assert(!is_fed(&signs, 10U * S));
  signs.worker_blocks = 1;
  ck_assert(is_fed(&signs, 10U * S));
  close_service();
}

SUITE_MAIN("service")
