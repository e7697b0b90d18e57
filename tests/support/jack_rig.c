// SPDX-License-Identifier: GPL-3.0-or-later
#include "jack_rig.h"

#include "suite.h"

#include <jack/metadata.h>
#include <string.h>
#include <unistd.h>

Io*
jack_rig_open(const Jackd* const jackd, FakeEvents* const fake, const uint32_t n_in,
              const uint32_t n_out, const bool connect)
{
  const IoConfig config = { .client_name = "rack",
                            .server_name = jackd->name,
                            .n_in = n_in,
                            .n_out = n_out,
                            .connect = connect };
  Io* io = NULL;
  const IoEvents events = fake_events(fake, n_in, n_out);
  OK(io_open(io_find("jack"), &config, &events, &io, &error));
  return io;
}

Io*
jack_rig_start(Jackd* const jackd, FakeEvents* const fake, const uint32_t n_in,
               const uint32_t n_out, const bool connect)
{
  jackd_start(jackd, 48000, 64);
  return jack_rig_open(jackd, fake, n_in, n_out, connect);
}

jack_client_t*
jack_rig_client(const Jackd* const jackd, const char* const name)
{
  const jack_options_t options = JackNoStartServer | JackServerName | JackUseExactName;
  jack_status_t status = 0;
  jack_client_t* client = NULL;
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  while (!(client = jack_client_open(name, options, &status, jackd->name))) {
    ck_assert_msg(time_now_ns() < end_ns, "the server refuses '%s': %#x", name, (unsigned)status);
    usleep(20000);
  }
  return client;
}

jack_client_t*
jack_rig_probe(const Jackd* const jackd)
{
  jack_client_t* probe = jack_rig_client(jackd, "probe");
  while (jack_activate(probe)) {
    jack_client_close(probe);
    probe = jack_rig_client(jackd, "probe");
  }
  return probe;
}

bool
jack_rig_is_connected(jack_client_t* const probe, const char* const from, const char* const to)
{
  jack_port_t* const port = jack_port_by_name(probe, from);
  const char** const peers = port ? jack_port_get_all_connections(probe, port) : NULL;
  bool found = false;
  for (unsigned i = 0; peers && peers[i]; ++i) {
    found |= !strcmp(peers[i], to);
  }
  jack_free(peers);
  return found;
}

bool
jack_rig_has_property(jack_client_t* const probe, const char* const port, const char* const key,
                      const char* const wanted)
{
  char* value = NULL;
  char* type = NULL;
  const jack_uuid_t uuid = jack_port_uuid(jack_port_by_name(probe, port));
  const bool is_wanted = !jack_get_property(uuid, key, &value, &type) && !strcmp(value, wanted);
  jack_free(value);
  jack_free(type);
  return is_wanted;
}

void
jack_rig_wait_for_end(jack_client_t* const probe)
{
  AWAIT(!jack_port_by_name(probe, "rack:in_1"));
}
