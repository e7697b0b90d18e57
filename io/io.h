// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The interface of the audio drivers, which IO_DRIVERS lists.  A driver owns the audio thread and
   calls IoEvents::process on it; all other work is done on the main thread, in io_poll().

   A driver does not end when a server or device disappears: it reports IO_STATE_WAITING, and
   io_poll() tries to reconnect with the same ports and connections.  Call io_poll() every 50 ms;
   it detects all changes.
*/
#ifndef WARPRACK_IO_IO_H
#define WARPRACK_IO_IO_H

#include "engine/base/status.h"
#include "engine/contract/period_door.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct IoConfig {
  const char* client_name; ///< Default "warprack"
  const char* server_name; ///< JACK: server to join, NULL: default
  const char* host_api;    ///< PortAudio: name of a host API or its start, NULL: default
  const char* device;      ///< PortAudio: name, a part of it, or index as text, NULL: default
  double rate_hz;          ///< 0: chosen by the driver (dummy: the rate of `play`, else 48000)
  uint32_t block_frames;   ///< 0: chosen by the driver (dummy: 256)
  uint32_t n_in, n_out;    ///< Ports to make
  bool connect;            ///< JACK: connect the ports automatically, see jack_places.h
  const char* connect_to;  ///< JACK: pattern of port names, NULL: the physical ports
  bool midi;               ///< JACK: make a MIDI input and a MIDI output
  bool wait;          ///< JACK, PortAudio: wait for a missing server or device at the first start
  bool fast;          ///< Dummy: run without pauses; every block waits for its result
  const char* play;   ///< Dummy: file that feeds the inputs, once, then silence
  const char* record; ///< Dummy: file that records the outputs (32-bit float WAV)
  double duration_s;  ///< Dummy: stop after this time; 0: no limit
} IoConfig;

/// The driver's callbacks.  `process` is [rt]; io_open() and io_poll() call the others on the main
/// thread, never while `process` runs.
typedef struct IoEvents {
  void* context;
  /// The engine's door.  The driver shuts it while the format changes and while no session runs.
  PeriodDoor* door;
  /// Process one period; must write all of `out`.  n_frames is the block size given to `format`,
  /// unless a server changes it without notice; never 0.  `wait`: no block may be late (freewheel,
  /// --fast).  `midi`: the driver's MIDI, or NULL.
  PeriodFunction process;
  /// Arm the engine, because rate or period are known or have changed.  After an error the driver
  /// keeps waiting.
  Status (*format)(void* context, double rate_hz, uint32_t block_frames, Error* error);
  /// Current latency from input to output in frames, which the driver reports to the server. [any]
  uint32_t (*latency)(void* context);
  /// One line for the log: server lost, reconnected, ... [main]
  void (*note)(void* context, const char* text);
} IoEvents;

typedef enum IoState {
  IO_STATE_WAITING, ///< No server or device; the driver retries
  IO_STATE_RUNNING,
  IO_STATE_ENDED ///< The dummy driver's duration is over
} IoState;

typedef struct IoStatus {
  IoState state;
  double rate_hz;
  uint32_t block_frames;
  /// Count of the server or device, for information: jackd -d dummy also counts delays of its own
  /// timer.  PeriodCounts::late counts the blocks that were late because of this program.
  uint64_t xruns;
  uint64_t overlaps; ///< Periods silenced because the driver called from two threads at once
  uint64_t reconnects;
  double hang_s; ///< Time for which a call to the server has not returned; 0: no call waits
  bool freewheeling;
  double transport_bpm; ///< JACK: tempo of the timebase master; 0: there is none
  Status file_status; ///< Dummy: an error once `play` or `record` has failed; a note had the reason
  char device[128];   ///< Name of the server or device
} IoStatus;

typedef struct Io Io;

typedef struct IoDriver {
  const char* name;
  const char* summary;
  bool is_silent; ///< Nobody hears it: `--io auto` does not choose it if PipeWire runs
  /// Start the driver.  STATUS_AUDIO_IO if there is no server or device at the first start, unless
  /// IoConfig::wait.
  Status (*open)(const IoConfig* config, const IoEvents* events, Io** io, Error* error);
  void (*poll)(Io* io);
  void (*status)(const Io* io, IoStatus* status);
  /// Report a changed latency to the server.  NULL: no server, or its library has no call for it.
  void (*latency_changed)(Io* io);
  Status (*close)(Io* io);
  /// Devices as a JSON array of objects {name, host_api, inputs, outputs, rate_hz, default}; may be
  /// NULL.
  json_t* (*devices)(void);
} IoDriver;

/// The drivers in the order in which `--io auto` tries them; one row for each IoDriver io_<name>.
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
/// Stop and free a driver.  Accepts NULL.  Returns within 2 s even if the server hangs.  Completes
/// the dummy driver's files; if that fails, a note has the reason, and the status is the error.
/// [main]
Status io_close(Io* io);

#endif
