// SPDX-License-Identifier: GPL-3.0-or-later
// Reports to the service manager of a live run.

#include "service.h"

#include "engine/base/text.h"
#include "engine/base/time.h"

#include <stdio.h>
#include <string.h>

#define SLOW_START_S  120U     // longer than compiling and measuring a GPU's kernels
#define SLOW_EVERY_NS NS_PER_S // between two messages about a slow start

Status
service_open(Service* const service, Error* const error)
{
  *service = (Service){ .socket.fd = -1, .starting_lock = PTHREAD_MUTEX_INITIALIZER };
  return notify_socket_open(&service->socket, error);
}

void
service_close(Service* const service)
{
  notify_socket_close(&service->socket);
}

bool
service_is_lost(Service* const service, Error* const why)
{
  const int code = service->socket.lost_errno;
  const bool is_news = code && !service->was_lost;
  service->was_lost = code != 0;
  if (is_news) {
    error_set(why, STATUS_NET, "cannot send to the service manager: NOTIFY_SOCKET: %s",
              strerror(code));
  }
  return is_news;
}

static void
ask_for_time(Service* const service, const char* const why)
{
  char shown[512];
  char text[768];
  snprintf(shown, sizeof(shown), "%s", why);
  text_make_printable(shown);
  snprintf(text, sizeof(text), "EXTEND_TIMEOUT_USEC=%u000000\nSTATUS=%s", SLOW_START_S, shown);
  notify_socket_send(&service->socket, text);
}

void
service_slow_start(Service* const service, const char* const why, const uint64_t now_ns)
{
  pthread_mutex_lock(&service->starting_lock);
  const bool is_early = service->slow_ns && now_ns - service->slow_ns < SLOW_EVERY_NS;
  if (!service->is_ready && !is_early) {
    service->slow_ns = now_ns;
    ask_for_time(service, why);
  }
  pthread_mutex_unlock(&service->starting_lock);
}

void
service_ready(Service* const service, const VitalSigns* const signs, const uint64_t now_ns)
{
  pthread_mutex_lock(&service->starting_lock);
  service->is_ready = true; // from now on only this thread uses the service
  pthread_mutex_unlock(&service->starting_lock);
  service->feed_ns = service->socket.watchdog_ns / 2U;
  service->fed_ns = now_ns; // the watchdog counts as just fed
  service->fed = *signs;
  notify_socket_send(&service->socket, "READY=1");
}

/// True if a part has made no progress since the last feeding.
static bool
is_a_part_idle(const VitalSigns* const fed, const VitalSigns* const signs)
{
  return signs->control_rounds == fed->control_rounds ||
         (signs->has_audio && (signs->callback_blocks == fed->callback_blocks ||
                               (signs->has_worker && signs->worker_blocks == fed->worker_blocks)));
}

static void
feed_watchdog(Service* const service, const VitalSigns* const signs, const uint64_t now_ns)
{
  if (service->feed_ns && now_ns - service->fed_ns >= service->feed_ns &&
      !is_a_part_idle(&service->fed, signs)) {
    service->fed = *signs;
    service->fed_ns = now_ns;
    service->n_fed += notify_socket_send(&service->socket, "WATCHDOG=1");
  }
}

void
service_poll(Service* const service, const VitalSigns* const signs, const char* const driver,
             const IoStatus* const io, const EngineStatus* const engine, const uint64_t now_ns)
{
  if (service->socket.fd < 0) {
    return;
  }
  feed_watchdog(service, signs, now_ns);
  char text[192];
  if (io->state == IO_STATE_RUNNING) {
    snprintf(text, sizeof(text), "%s (%.64s): %.0f Hz, %u frames, latency %u, %u nodes on %s",
             driver, io->device, io->rate_hz, io->block_frames, engine->latency_frames,
             engine->n_nodes, engine->backend);
  } else {
    snprintf(text, sizeof(text), "waiting for %s", driver);
  }
  notify_socket_status(&service->socket, text, now_ns);
}

void
service_reloading(Service* const service, const uint64_t now_ns)
{
  char text[64];
  snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
           (unsigned long long)(now_ns / 1000U));
  notify_socket_send(&service->socket, text);
}

void
service_reloaded(Service* const service)
{
  notify_socket_send(&service->socket, "READY=1");
}

void
service_stopping(Service* const service, const char* const why)
{
  char text[160];
  snprintf(text, sizeof(text), "STOPPING=1\nSTATUS=stopping (%.100s)", why);
  notify_socket_send(&service->socket, text);
}
