// SPDX-License-Identifier: GPL-3.0-or-later
// The JACK driver on a real server: ports, connections, latency, period, freewheel, xruns.

#include "io/io.h"
#include "tests/support/fake_events.h"
#include "tests/support/jack_rig.h"
#include "tests/support/jackd.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <jack/jack.h>
#include <jack/metadata.h>
#include <jack/midiport.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

TEST(ports_have_names_order_and_physical_connections)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  Io* const io = jack_rig_start(&jackd, &fake, 2, 3, true);
  ck_assert(driver_is_running(io));
  ck_assert_double_eq(fake.rate_hz, 48000.0);
  ck_assert_uint_eq(fake.block_frames, 64);
  POLL_UNTIL(io, fake.periods > 10U);
  ck_assert_uint_eq(fake.last_frames, 64);
  ck_assert_uint_eq(fake.waited, 0);

  jack_client_t* const probe = jack_rig_probe(&jackd);
  POLL_UNTIL(io, jack_rig_is_connected(probe, "system:capture_1", "rack:in_1"));
  POLL_UNTIL(io, jack_rig_is_connected(probe, "system:capture_2", "rack:in_2"));
  POLL_UNTIL(io, jack_rig_is_connected(probe, "rack:out_1", "system:playback_1"));
  POLL_UNTIL(io, jack_rig_is_connected(probe, "rack:out_2", "system:playback_2"));
  static const struct {
    const char* port;
    const char* pretty;
    const char* order;
  } ports[] = { { "rack:in_1", "Input 1", "0" },
                { "rack:in_2", "Input 2", "1" },
                { "rack:out_1", "Output 1", "2" },
                { "rack:out_3", "Output 3", "4" } };
  for (unsigned p = 0; p < ARRAY_LEN(ports); ++p) {
    POLL_UNTIL(io, jack_rig_has_property(probe, ports[p].port, JACK_METADATA_PRETTY_NAME,
                                         ports[p].pretty));
    POLL_UNTIL(io,
               jack_rig_has_property(probe, ports[p].port, JACK_METADATA_ORDER, ports[p].order));
  }
  io_close(io);
  jack_rig_wait_for_end(probe);
  jack_client_close(probe);
}

TEST(without_connect_nothing_is_connected)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  jackd_start(&jackd, 44100, 256);
  SCOPED(driver_close) Io* const io = jack_rig_open(&jackd, &fake, 1, 1, false);
  SCOPED(jack_rig_client_close) jack_client_t* const probe = jack_rig_probe(&jackd);
  ck_assert(!jack_rig_is_connected(probe, "system:capture_1", "rack:in_1"));
  ck_assert(!jack_rig_is_connected(probe, "rack:out_1", "system:playback_1"));
  ck_assert_double_eq(driver_status(io).rate_hz, 44100.0);
  ck_assert_uint_eq(driver_status(io).block_frames, 256);
}

static jack_latency_range_t
latency(jack_client_t* const probe, const char* const port, const jack_latency_callback_mode_t mode)
{
  jack_latency_range_t range = { 1, 0 };
  jack_port_get_latency_range(jack_port_by_name(probe, port), mode, &range);
  return range;
}

// Whether the latency range at `port` is the range at `beyond` plus `own`.
static bool
adds_up(jack_client_t* const probe, const char* const port, const char* const beyond,
        const jack_latency_callback_mode_t mode, const uint32_t own)
{
  const jack_latency_range_t here = latency(probe, port, mode);
  const jack_latency_range_t there = latency(probe, beyond, mode);
  return here.min == there.min + own && here.max == there.max + own;
}

static bool
latency_is(jack_client_t* const probe, const uint32_t own)
{
  return adds_up(probe, "rack:out_1", "system:capture_1", JackCaptureLatency, own) &&
         adds_up(probe, "rack:in_1", "system:playback_1", JackPlaybackLatency, own);
}

TEST(latency_is_reported_in_both_directions_and_after_each_change)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { .latency = 100 };
  SCOPED(driver_close) Io* const io = jack_rig_start(&jackd, &fake, 2, 2, true);
  SCOPED(jack_rig_client_close) jack_client_t* const probe = jack_rig_probe(&jackd);
  POLL_UNTIL(io, latency(probe, "system:capture_1", JackCaptureLatency).max > 0U);
  POLL_UNTIL(io, latency(probe, "system:playback_1", JackPlaybackLatency).max > 0U);
  POLL_UNTIL(io, latency_is(probe, 100));
  fake.latency = 4321;
  io_latency_changed(io);
  POLL_UNTIL(io, latency_is(probe, 4321));
  // Two inputs with different latencies make a range: out_2 returns to in_2, with 4321 frames more.
  ck_assert_int_eq(jack_connect(probe, "rack:out_2", "rack:in_2"), 0);
  ck_assert_int_eq(jack_disconnect(probe, "system:capture_2", "rack:in_2"), 0);
  POLL_UNTIL(io, latency(probe, "rack:out_1", JackCaptureLatency).max >
                     latency(probe, "rack:out_1", JackCaptureLatency).min);
}

TEST(the_period_may_change_to_any_length)
{
  static const uint32_t periods[] = { 1024, 17, 128, 64 };
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { .latency = 10 };
  SCOPED(driver_close) Io* const io = jack_rig_start(&jackd, &fake, 2, 2, true);
  SCOPED(jack_rig_client_close) jack_client_t* const probe = jack_rig_probe(&jackd);
  for (unsigned p = 0; p < ARRAY_LEN(periods); ++p) {
    ck_assert_int_eq(jack_set_buffer_size(probe, periods[p]), 0);
    POLL_UNTIL(io, driver_is_running(io) && fake.last_frames == periods[p]);
    ck_assert_uint_eq(fake.block_frames, periods[p]);
    ck_assert_uint_eq(driver_status(io).block_frames, periods[p]);
    POLL_UNTIL(io, latency_is(probe, 10));
  }
  ck_assert(!fake.overlapped);
  ck_assert_msg(driver_status(io).reconnects == 0U, "%s", fake.log);

  // If the engine refuses a format, the driver waits, and continues when the engine accepts it.
  fake.refuse = STATUS_LIMIT;
  ck_assert_int_eq(jack_set_buffer_size(probe, 512), 0);
  POLL_UNTIL(io, !driver_is_running(io));
  assert_says(fake.log, "refused by the test");
  fake.refuse = STATUS_OK;
  POLL_UNTIL(io, driver_is_running(io) && fake.last_frames == 512U);
  POLL_UNTIL(io, jack_rig_is_connected(probe, "rack:out_2", "system:playback_2"));
}

TEST(freewheel_waits_for_every_block)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  SCOPED(driver_close) Io* const io = jack_rig_start(&jackd, &fake, 1, 1, false);
  SCOPED(jack_rig_client_close) jack_client_t* const probe = jack_rig_probe(&jackd);
  ck_assert_int_eq(jack_set_freewheel(probe, 1), 0);
  POLL_UNTIL(io, fake.waited > 100U);
  ck_assert(driver_status(io).freewheeling);
  ck_assert_int_eq(jack_set_freewheel(probe, 0), 0);
  POLL_UNTIL(io, !driver_status(io).freewheeling);
  const uint64_t after = fake.periods;
  POLL_UNTIL(io, fake.periods > after + 1U); // until the last period in freewheel has ended
  const uint64_t waited = fake.waited;
  const uint64_t periods = fake.periods;
  POLL_UNTIL(io, fake.periods > periods + 10U);
  ck_assert_uint_eq(fake.waited, waited);
}

TEST(xruns_are_counted)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  SCOPED(driver_close) Io* const io = jack_rig_start(&jackd, &fake, 1, 1, false);
  const uint64_t before = driver_status(io).xruns;
  kill(jackd.pid, SIGSTOP);
  usleep(100000);
  kill(jackd.pid, SIGCONT);
  POLL_UNTIL(io, driver_status(io).xruns > before);
}

// A timebase master with 133.5 bpm.
static void
fill_position(const jack_transport_state_t state, const jack_nframes_t n_frames,
              jack_position_t* const position, const int is_new, void* const context)
{
  (void)state;
  (void)n_frames;
  (void)is_new;
  (void)context;
  position->valid = JackPositionBBT;
  position->bar = position->beat = 1;
  position->beats_per_bar = position->beat_type = 4.0F;
  position->ticks_per_beat = 1920.0;
  position->beats_per_minute = 133.5;
}

TEST(the_tempo_of_a_timebase_master_is_reported)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { 0 };
  SCOPED(driver_close) Io* const io = jack_rig_start(&jackd, &fake, 1, 1, false);
  SCOPED(jack_rig_client_close) jack_client_t* const master = jack_rig_probe(&jackd);
  POLL_UNTIL(io, fake.periods > 10U);
  ck_assert(driver_status(io).transport_bpm == 0.0);
  ck_assert_int_eq(jack_set_timebase_callback(master, 0, fill_position, NULL), 0);
  jack_transport_start(master);
  POLL_UNTIL(io, driver_status(io).transport_bpm == 133.5);
  ck_assert_int_eq(jack_release_timebase(master), 0);
  POLL_UNTIL(io, driver_status(io).transport_bpm == 0.0);
}

TEST(no_server_is_an_error_in_words_and_prints_nothing)
{
  FILE* const caught = tmpfile();
  const int kept = dup(STDERR_FILENO);
  dup2(fileno(caught), STDERR_FILENO);
  const IoConfig config = { .server_name = "warprack-test-nobody", .n_in = 1, .n_out = 1 };
  FakeEvents fake = { 0 };
  const IoEvents events = fake_events(&fake, 1, 1);
  Io* io = NULL;
  Error error = { STATUS_OK, "" };
  const Status status = io_open(io_find("jack"), &config, &events, &io, &error);
  dup2(kept, STDERR_FILENO);
  ck_assert_int_eq(status, STATUS_AUDIO_IO);
  assert_says(error.text, "'warprack-test-nobody' does not run");
  ck_assert_int_eq(ftell(caught), 0);
  fseek(caught, 0, SEEK_END);
  ck_assert_int_eq(ftell(caught), 0);
  ck_assert_uint_eq(fake.formats + fake.notes, 0);
  fclose(caught);
}

TEST(a_format_that_is_refused_is_not_waited_for)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  FakeEvents fake = { .refuse = STATUS_LIMIT };
  jackd_start(&jackd, 48000, 64);
  const IoConfig config = { .server_name = jackd.name, .n_out = 1, .wait = true };
  Io* io = NULL;
  Error error = { STATUS_OK, "" };
  const IoEvents events = fake_events(&fake, 0, 1);
  ck_assert_int_eq(io_open(io_find("jack"), &config, &events, &io, &error), STATUS_LIMIT);
  ck_assert_str_eq(error.text, "refused by the test");
}

// ---- MIDI ----

#define BURST 1000U // messages in one period, more than the driver takes

// A client that sends and receives MIDI.
typedef struct Player {
  jack_port_t *in, *out;
  atomic_uint n_to_send; // Messages in the next period
  atomic_uint n_came, n_wrong;
} Player;

static int
play_midi(const jack_nframes_t n_frames, void* const context)
{
  Player* const player = context;
  void* const out = jack_port_get_buffer(player->out, n_frames);
  void* const in = jack_port_get_buffer(player->in, n_frames);
  jack_midi_clear_buffer(out);
  const unsigned n = atomic_exchange(&player->n_to_send, 0U);
  for (unsigned e = 0; e < n; ++e) {
    const jack_nframes_t frame = e * n_frames / n;
    const jack_midi_data_t control[] = { 0xB2, (uint8_t)(e / 128U), (uint8_t)(e % 128U) };
    player->n_wrong += jack_midi_event_write(out, frame, control, sizeof(control)) != 0;
  }
  if (n == 2U) {
    const jack_midi_data_t exclusive[] = { 0xF0, 0x7D, 1, 2, 3, 4, 5, 6, 7, 0xF7 };
    player->n_wrong += jack_midi_event_write(out, n_frames - 1U, exclusive, sizeof(exclusive)) != 0;
  }
  for (uint32_t e = 0; e < jack_midi_get_event_count(in); ++e) {
    jack_midi_event_t event;
    const bool is_right = !jack_midi_event_get(&event, in, e) && event.size == 3U &&
                          event.buffer[0] == 0xB2 && event.buffer[1] == e / 128U &&
                          event.buffer[2] == e % 128U;
    player->n_wrong += !is_right;
    ++player->n_came;
  }
  return 0;
}

static jack_client_t*
start_player(const Jackd* const jackd, Player* const player)
{
  jack_client_t* client = NULL;
  while (!client) { // the time limit of the test ends this
    client = jack_rig_client(jackd, "player");
    jack_set_process_callback(client, play_midi, player);
    player->out = jack_port_register(client, "out", JACK_DEFAULT_MIDI_TYPE, JackPortIsOutput, 0);
    player->in = jack_port_register(client, "in", JACK_DEFAULT_MIDI_TYPE, JackPortIsInput, 0);
    if (!player->in || !player->out || jack_activate(client)) {
      jack_client_close(client); // libjack's thread did not run within a second
      client = NULL;
    }
  }
  return client;
}

TEST(midi_comes_in_and_goes_out_at_its_frames)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  static FakeEvents fake;
  jackd_start(&jackd, 48000, 64);
  const IoConfig config = {
    .client_name = "rack", .server_name = jackd.name, .n_in = 1, .n_out = 1, .midi = true
  };
  SCOPED(driver_close) Io* io = NULL;
  const IoEvents events = fake_events(&fake, 1, 1);
  OK(io_open(io_find("jack"), &config, &events, &io, &error));
  static Player player;
  SCOPED(jack_rig_client_close) jack_client_t* const client = start_player(&jackd, &player);
  POLL_UNTIL(io, jack_connect(client, "player:out", "rack:midi_in") != -1 &&
                     jack_rig_is_connected(client, "player:out", "rack:midi_in"));
  POLL_UNTIL(io, jack_connect(client, "rack:midi_out", "player:in") != -1 &&
                     jack_rig_is_connected(client, "rack:midi_out", "player:in"));
  POLL_UNTIL(
      io, jack_rig_has_property(client, "rack:midi_in", JACK_METADATA_PRETTY_NAME, "MIDI input"));
  player.n_to_send = 2;
  POLL_UNTIL(io, fake.midi_skipped);
  ck_assert_uint_eq(fake.n_midi, 2);
  ck_assert_uint_eq(fake.midi_frames[1] - fake.midi_frames[0], 32);
  ck_assert_uint_eq(fake.midi_frames[0] % 64U, 0);
  POLL_UNTIL(io, player.n_came == 2U);
  fake.n_midi = player.n_came = 0;
  player.n_to_send = BURST;
  POLL_UNTIL(io, player.n_came);
  ck_assert_uint_eq(fake.n_midi, MIDI_MAX_EVENTS);
  ck_assert_uint_eq(fake.midi_lost, BURST - MIDI_MAX_EVENTS);
  POLL_UNTIL(io, player.n_came == MIDI_MAX_EVENTS);
  ck_assert_uint_eq(player.n_wrong, 0);
}

int
main(void)
{
  return jackd_suite_run("jack");
}
