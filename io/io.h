// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The seam of the audio drivers: JACK, PortAudio, the dummy timer.  A driver owns the audio thread
   and calls IoEvents::process on it; everything else happens on the main thread, inside io_poll().

   A driver never ends by itself because a server or device went away: it reports IO_STATE_WAITING,
   and io_poll() (call it every 50 ms, that is how soon anything is noticed) tries to come back with
   the same ports and connections.
*/
#ifndef WARPRACK_IO_IO_H
#define WARPRACK_IO_IO_H

#include "engine/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct IoConfig {
  const char* client_name; ///< Default "warprack"
  const char* server_name; ///< JACK: server to join, NULL: default
  const char* host_api;    ///< PortAudio: name or its beginning, NULL: default
  const char* device;      ///< PortAudio: name, part of it, or index as text, NULL: default
  double rate_hz;          ///< 0: the driver's own (dummy: that of `play`, else 48000)
  uint32_t block_frames;   ///< 0: the driver's own (dummy: 256)
  uint32_t n_in, n_out;    ///< Ports to make
  bool connect;            ///< JACK: connect the ports by itself, see jack_places.h
  const char* connect_to;  ///< JACK: pattern of ports' names, NULL: the physical ones
  bool wait;          ///< JACK, PortAudio: no server or device at the first start is waited for
  bool fast;          ///< Dummy: no waiting between blocks, every block is waited for
  const char* play;   ///< Dummy: file that feeds the inputs, once, then silence
  const char* record; ///< Dummy: file that keeps the outputs (32-bit float WAV)
  double duration_s;  ///< Dummy: stop after so many seconds, 0: go on
} IoConfig;

/// What the driver calls.  `process` is [rt]; the others are called on the main thread from
/// io_open() or io_poll(), never while `process` runs.
typedef struct IoEvents {
  void* context;
  /// One period; all of `out` must be written.  n_frames is what `format` said, except where a
  /// server breaks its word; never 0.  `wait`: nothing may be late (freewheel, --fast).
  void (*process)(void* context, const float* const* in, float* const* out, uint32_t n_frames,
                  bool wait);
  /// Rate or period are known or have changed: arm the engine.  An error keeps the driver waiting.
  Status (*format)(void* context, double rate_hz, uint32_t block_frames, Error* error);
  /// Frames from input to output now, which the driver reports to the server.  [any]
  uint32_t (*latency)(void* context);
  /// One line for the log: lost the server, came back, ...  [main]
  void (*note)(void* context, const char* text);
} IoEvents;

typedef enum IoState {
  IO_STATE_WAITING, ///< No server or device; being retried
  IO_STATE_RUNNING,
  IO_STATE_ENDED ///< The dummy driver has played for its duration
} IoState;

typedef struct IoStatus {
  IoState state;
  double rate_hz;
  uint32_t block_frames;
  /// As the server or device counts them, for information: jackd -d dummy counts its own timer's
  /// lateness too.  PeriodCounts::late counts the blocks for which this program was late.
  uint64_t xruns;
  uint64_t overlaps; ///< Periods silenced because the driver called from two threads at once
  uint64_t reconnects;
  double hang_s; ///< How long a call to the server has not been answered, 0: none waits
  bool freewheeling;
  Status file_status; ///< Dummy: not STATUS_OK once `play` or `record` has failed; a note said why
  char device[128];   ///< Server or device in words
} IoStatus;

typedef struct Io Io;

typedef struct IoDriver {
  const char* name;
  const char* summary;
  /// Start.  STATUS_AUDIO_IO when there is no server or device at the first start, unless
  /// IoConfig::wait.
  Status (*open)(const IoConfig* config, const IoEvents* events, Io** io, Error* error);
  void (*poll)(Io* io);
  void (*status)(const Io* io, IoStatus* status);
  /// The latency has changed: tell the server.
  void (*latency_changed)(Io* io);
  Status (*close)(Io* io);
  /// Devices as a JSON array of objects {name, host_api, inputs, outputs, rate_hz, default}; may be
  /// NULL.
  json_t* (*devices)(void);
} IoDriver;

/// The drivers, best first for `--io auto`; one row for each IoDriver io_<name>.
#define IO_DRIVERS(ROW)                                                                            \
  ROW(jack)                                                                                        \
  ROW(portaudio)                                                                                   \
  ROW(dummy)

/// The drivers in the order of IO_DRIVERS. [main]
const IoDriver* const* io_drivers(uint32_t* n_drivers);

const IoDriver* io_find(const char* name);

NODISCARD Status // [main]
io_open(const IoDriver* driver, const IoConfig* config, const IoEvents* events, Io** io,
        Error* error);
void io_poll(Io* io);
void io_status(const Io* io, IoStatus* status);
void io_latency_changed(Io* io);
/// Stop and free.  Accepts NULL; returns within 2 s even when the server hangs.  The dummy driver's
/// files are complete afterwards; when they are not, a note says why and so does the status. [main]
Status io_close(Io* io);

#endif
