// SPDX-License-Identifier: GPL-3.0-or-later
// Another client of the JACK server, for tests: "peer:out" plays a constant 0.25, "peer:in"
// receives.  It ends with the server.
//
//     jack_peer                becomes a client of the running server
//     jack_peer watch LEVEL    tries every 2 ms until a server accepts it
//     jack_peer midi           also "peer:midi" plays, in each period, a system exclusive message,
//                              a program change and 299 control changes
//     jack_peer steps N        also "peer:midi": each time it is connected, it plays N groups of
//                              events, 16 ms apart: controllers 20 (127, then 0) and 21 (1), and
//                              then "sent TIME" is printed
//
// With `watch` it prints three monotonic times in ns, each as soon as it is known: when the server
// accepted it ("accepted N"), when the first sound arrived ("sounded N"), and when a sound of this
// level arrived ("settled N").

#include <errno.h>
#include <inttypes.h>
#include <jack/jack.h>
#include <jack/midiport.h>
#include <math.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LEVEL_ERROR 1e-5F
#define STEP_FRAMES 768U // 16 ms at 48 kHz

// An event to wait for.
typedef struct Moment {
  bool is_over;
  uint64_t ns;
  sem_t come;
} Moment;

static jack_port_t* in;
static jack_port_t* out;
static jack_port_t* midi; // NULL: none
static uint32_t n_steps;  // groups of events; 0: as with `midi`
static float level;
static Moment sounded;
static Moment settled;
static Moment sent;

static uint64_t
now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void
come(Moment* const moment)
{
  if (!moment->is_over) {
    moment->is_over = true;
    moment->ns = now_ns();
    sem_post(&moment->come);
  }
}

static void
listen_to(const float* const samples, const jack_nframes_t n_frames)
{
  const float last = samples[n_frames - 1U];
  if (last != 0.0F) {
    come(&sounded);
  }
  if (fabsf(last - level) < LEVEL_ERROR) {
    come(&settled);
  }
}

static void
play_midi(const jack_nframes_t n_frames)
{
  static const jack_midi_data_t exclusive[] = { 0xF0, 0x7D, 1, 2, 0xF7 };
  static const jack_midi_data_t program[] = { 0xC2, 5 };
  void* const buffer = jack_port_get_buffer(midi, n_frames);
  jack_midi_clear_buffer(buffer);
  jack_midi_event_write(buffer, 0, exclusive, sizeof(exclusive));
  jack_midi_event_write(buffer, 0, program, sizeof(program));
  for (unsigned e = 1; e < 300U; ++e) {
    const jack_midi_data_t control[] = { 0xB0, 1, (jack_midi_data_t)(e % 128U) };
    jack_midi_event_write(buffer, 0, control, sizeof(control));
  }
}

static void
play_steps(const jack_nframes_t n_frames)
{
  static const jack_midi_data_t events[][3] = { { 0xB0, 20, 127 },
                                                { 0xB0, 20, 0 },
                                                { 0xB0, 21, 1 } };
  static uint32_t n_played;
  static jack_nframes_t until; // the next group
  void* const buffer = jack_port_get_buffer(midi, n_frames);
  jack_midi_clear_buffer(buffer);
  if (!jack_port_connected(midi)) {
    n_played = 0;
    sent.is_over = false;
  } else if (n_played == n_steps) {
    come(&sent);
  } else if (until < n_frames) {
    for (uint32_t e = 0; e < 3U; ++e) {
      jack_midi_event_write(buffer, until, events[e], sizeof(events[e]));
    }
    ++n_played;
    until += STEP_FRAMES;
  }
  until -= until < n_frames ? until : n_frames;
}

static int
process(const jack_nframes_t n_frames, void* const context)
{
  (void)context;
  if (midi && n_steps) {
    play_steps(n_frames);
  } else if (midi) {
    play_midi(n_frames);
  }
  float* const samples = jack_port_get_buffer(out, n_frames);
  for (jack_nframes_t i = 0; i < n_frames; ++i) {
    samples[i] = 0.25F;
  }
  listen_to(jack_port_get_buffer(in, n_frames), n_frames);
  return 0;
}

static void
shutdown(void* const context)
{
  (void)context;
  _exit(EXIT_SUCCESS);
}

static void
say_nothing(const char* const text)
{
  (void)text;
}

static jack_client_t*
join(const bool watch)
{
  jack_client_t* client = jack_client_open("peer", JackNoStartServer, NULL);
  while (!client && watch) {
    usleep(2000);
    client = jack_client_open("peer", JackNoStartServer, NULL);
  }
  return client;
}

static bool
begin(jack_client_t* const client, const bool has_midi)
{
  jack_set_process_callback(client, process, NULL);
  jack_on_shutdown(client, shutdown, NULL);
  out = jack_port_register(client, "out", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
  in = jack_port_register(client, "in", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
  midi = has_midi ? jack_port_register(client, "midi", JACK_DEFAULT_MIDI_TYPE, JackPortIsOutput, 0)
                  : NULL;
  return in && out && (midi || !has_midi) && !jack_activate(client);
}

static void
say(const char* const what, const uint64_t ns)
{
  printf("%s %" PRIu64 "\n", what, ns);
  fflush(stdout);
}

static void
wait_and_say(const char* const what, Moment* const moment)
{
  while (sem_wait(&moment->come) && errno == EINTR) {
  }
  say(what, moment->ns);
}

int
main(const int argc, char** const argv)
{
  const bool watch = argc == 3 && !strcmp(argv[1], "watch");
  n_steps = argc == 3 && !strcmp(argv[1], "steps") ? (uint32_t)strtoul(argv[2], NULL, 10) : 0U;
  const bool has_midi = n_steps || (argc == 2 && !strcmp(argv[1], "midi"));
  level = watch ? strtof(argv[2], NULL) : 0.0F;
  sem_init(&sounded.come, 0, 0);
  sem_init(&settled.come, 0, 0);
  sem_init(&sent.come, 0, 0);
  jack_set_error_function(say_nothing); // no messages for failed attempts
  jack_client_t* client = join(watch);
  const uint64_t accepted_ns = now_ns();
  // begin() fails if libjack's thread does not run within a second, which happens on busy machines.
  while (client && !begin(client, has_midi)) {
    jack_client_close(client);
    client = join(true);
  }
  if (!client) {
    return EXIT_FAILURE;
  }
  if (watch) {
    say("accepted", accepted_ns);
    wait_and_say("sounded", &sounded);
    wait_and_say("settled", &settled);
  }
  for (;;) {
    wait_and_say("sent", &sent);
  }
}
