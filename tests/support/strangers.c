// SPDX-License-Identifier: GPL-3.0-or-later
#include "strangers.h"

#include "control/clients.h"
#include "control/commands.h"
#include "set_by_name.h"
#include "peers.h"
#include "scoped.h"
#include "suite.h"
#include "wrapped_alloc.h"

#include "fake_engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Strangers strangers = { .n_good = UINT32_MAX };

void
strangers_start(const char* const allowed)
{
  int pair[2];
  memset(&strangers.control, 0, sizeof(strangers.control));
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
  strangers.control.outlet.socket = pair[0];
  strangers.control.outlet.loopback = -1;
  strangers.control.outlet.streams = &strangers.control.streams;
  strangers.control.outlet.outbox = outbox_new();
  strangers.receiver = pair[1];
  strangers.control.now_ns = NS_PER_S;
  ck_assert(trust_init(&strangers.control.outlet.trust));
  OK(allow_read(&strangers.control.allow, allowed, &error));
  strangers.control.commands = command_table;
  strangers.control.n_commands = n_commands;
  strangers.control.config.engine = fake_engine_new();
  strangers.control.notify.say = control_say;
  strangers.control.notify.context = &strangers.control;
  clients_init(&strangers.control);
  SCOPED_RACK Rack* const rack = rack_of("lowcut: highpass 80 | vol: gain -6dB", NULL);
  const EditorConfig config = { .engine = strangers.control.config.engine };
  OK(editor_new(&config, rack, &strangers.control.editor, &error));
}

void
strangers_stop(void)
{
  free(strangers.control.rack_text);
  notify_clear(&strangers.control.notify);
  editor_free(strangers.control.editor);
  fake_engine_free(strangers.control.config.engine);
  outbox_free(strangers.control.outlet.outbox);
  close(strangers.control.outlet.socket);
  close(strangers.receiver);
}

void
strangers_use_gains(const uint32_t n)
{
  SCOPED_RACK Rack* const rack = rack_new();
  for (uint32_t i = 1; i <= n; ++i) {
    char name[16];
    snprintf(name, sizeof(name), "g%u", i);
    OK(rack_add(rack, name, "gain", &error));
  }
  editor_free(strangers.control.editor);
  const EditorConfig config = { .engine = strangers.control.config.engine };
  OK(editor_new(&config, rack, &strangers.control.editor, &error));
}

Peer
stranger_of(const char* const address, const uint16_t port)
{
  Peer peer = peer_of(address, port);
  peer.n_bytes = 0; // sendmsg() sends to the other end of the pair
  return peer;
}

size_t
strangers_receive(void)
{
  outlet_flush(&strangers.control.outlet);
  const ssize_t n = recv(strangers.receiver, strangers.packet, sizeof(strangers.packet), 0);
  return n > 0 ? (size_t)n : 0U;
}

const char*
strangers_first_text(void)
{
  const char* const types = strangers.packet + ((strlen(strangers.packet) + 4U) & ~3UL);
  return types + ((strlen(types) + 4U) & ~3UL);
}

size_t
strangers_ask(const Peer* const peer, const char* const address, const char* const types, ...)
{
  char text[512] = "";
  size_t n_bytes = 0;
  va_list values;
  lo_message arguments = lo_message_new();
  va_start(values, types);
  for (const char* type = types; *type; ++type) {
    if (*type == 's') {
      lo_message_add_string(arguments, va_arg(values, const char*));
    } else {
      lo_message_add_int32(arguments, va_arg(values, int));
    }
  }
  va_end(values);
  lo_message_serialise(arguments, address, text, &n_bytes);
  lo_message_free(arguments);
  const Instant arrival = instant_now();
  Bundle* bundle = NULL;
  OK(bundles_read(text, n_bytes, peer, &arrival, &bundle) ? STATUS_NO_MEM : STATUS_OK);
  Message* const message = &bundle->messages[0];
  OK(command_find(message, &message->info, &error));
  Error failure;
  clients_renew(&strangers.control, peer);
  if (strangers.n_good != UINT32_MAX) {
    failing_alloc_arm(strangers.n_good);
  }
  if (message->info->run(&strangers.control, peer, message, &failure)) {
    outlet_fail(&strangers.control.outlet, peer, n_bytes, address, &failure);
  }
  strangers.has_failed = strangers.n_good != UINT32_MAX && failing_alloc_disarm();
  bundle_free(bundle);
  return n_bytes;
}

void
strangers_expect(const char* const answer)
{
  ck_assert_uint_gt(strangers_receive(), 0);
  ck_assert_str_eq(strangers.packet, answer);
}

void
strangers_prove(const Peer* const peer)
{
  strangers_ask(peer, "/server/hello", "s", "0123456789abcdef");
  strangers_expect("/server/cookie");
  char cookie[TRUST_COOKIE_BYTES];
  snprintf(cookie, sizeof(cookie), "%s", strangers_first_text());
  strangers_ask(peer, "/server/hello", "s", cookie);
  strangers_expect("/done");
}

Peer
strangers_start_proved(void)
{
  strangers_start("192.0.2.0/24");
  const Peer peer = stranger_of("192.0.2.7", 9000);
  strangers_prove(&peer);
  return peer;
}

void
strangers_flush(void)
{
  strangers.control.now_ns += NOTIFY_INTERVAL_NS;
  notify_flush(&strangers.control.notify, strangers.control.now_ns);
}
