// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A plugin as data: what a scan found out about it.  The server and the worker know plugins by this
   description only; nothing here opens a plugin.

   A description is text in the catalogue (plugin_text.c): one line per fact, its fields separated
   by tabs.  From the ports the parameters of the effect are made (plugin_params.c), so that racks,
   OSC, help and the checks of ranges treat a plugin like any other effect.
*/
#ifndef WARPRACK_PLUGINS_PLUGIN_H
#define WARPRACK_PLUGINS_PLUGIN_H

#include "report.h"

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/text_buffer.h"
#include "engine/contract/effect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PortType {
  PORT_AUDIO,
  PORT_CONTROL,  ///< One number; of CLAP: a parameter
  PORT_CV,       ///< A number per frame, as audio
  PORT_ATOM,     ///< LV2: a sequence of events
  PORT_PROPERTY, ///< LV2: a parameter that is set by a patch:Set message (`uri`)
  PORT_N_TYPES
} PortType;

// clang-format off

/// Flags of ports: word in enumerations, name in the catalogue.
#define PORT_FLAGS(ROW)                                                                            \
  ROW(OUTPUT,      "output")      /* else an input */                                              \
  ROW(OPTIONAL,    "optional")    /* may be connected to nothing */                                \
  ROW(SIDECHAIN,   "sidechain")   /* audio that controls, and is not heard */                      \
  ROW(INTEGER,     "integer")     /* whole numbers only */                                         \
  ROW(TOGGLED,     "toggled")     /* 0 or 1 */                                                     \
  ROW(CHOICE,      "choice")      /* only the numbers of its points */                             \
  ROW(LOGARITHMIC, "logarithmic")                                                                  \
  ROW(RATE,        "rate")        /* min, max, initial are multiples of the sample rate */         \
  ROW(TRIGGER,     "trigger")     /* an impulse: 1 for one block */                                \
  ROW(STEPPED,     "stepped")     /* no ramp: every change costs time or is audible */             \
  ROW(LATENCY,     "latency")     /* an output: the latency in frames */                           \
  ROW(ENABLED,     "enabled")     /* 0 bypasses the plugin */                                      \
  ROW(BYPASS,      "bypass")      /* 1 bypasses the plugin */                                      \
  ROW(OFFLINE,     "offline")     /* 1 while a file is rendered */                                 \
  ROW(HIDDEN,      "hidden")      /* not meant for users */                                        \
  ROW(EVENTS,      "events")      /* MIDI */                                                       \
  ROW(TIME,        "time")        /* position and tempo */                                         \
  ROW(PATCH,       "patch")       /* messages for properties */                                    \
  ROW(FILE,        "file")        /* a property: the path of a file */                             \
  ROW(TEXT,        "text")        /* a property: free text */

// clang-format on

#define PORT_FLAG_SHIFT(word, name) PORT_SHIFT_##word,
enum { PORT_FLAGS(PORT_FLAG_SHIFT) PORT_N_FLAGS };
#define PORT_FLAG_BIT(word, name) PORT_##word = 1U << PORT_SHIFT_##word,
enum { PORT_FLAGS(PORT_FLAG_BIT) PORT_NO_FLAGS = 0U };

/// A number of a port that has a name.
typedef struct PluginPoint {
  double value;
  const char* label;
} PluginPoint;

typedef struct PluginPort {
  uint32_t index; ///< LADSPA, LV2: of the port, below n_ports.  CLAP: of the parameter, `clap_id`
  PortType type;
  uint32_t flags;     ///< PORT_FLAGS, or'ed
  const char* symbol; ///< LV2: its symbol.  Else the id that is made from the name, or ""
  const char* name;   ///< For people
  const char* group;  ///< Name of the group of audio ports; "": none
  const char* uri;    ///< PROPERTY: its URI; else ""
  FxMeasure unit;     ///< CONTROL, PROPERTY
  double min, max;    ///< CONTROL, PROPERTY: min <= initial <= max, all finite
  double initial;
  uint32_t n_bytes;          ///< ATOM: size of its buffer, 0: any
  uint32_t n_points;         ///< At most PLUGIN_MAX_POINTS
  const PluginPoint* points; ///< In order of their values, which differ
} PluginPort;

/// A preset: values for some of the parameters.
typedef struct PluginPreset {
  const char* name;
  const char* uri;   ///< LV2: its URI, CLAP: its key in the file; ""
  const char* state; ///< File that has more than values, for the format to load; "" or NULL: none
  uint32_t n_values;
  const uint32_t* ports; ///< [n_values] places in Plugin::ports
  const double* values;  ///< [n_values] in the ranges of the ports; of PORT_RATE in Hz
} PluginPreset;

#define PLUGIN_RATE_HZ     48000.0 // at which a parameter of PORT_RATE has its initial value
#define PLUGIN_MAX_PORTS   8192U
#define PLUGIN_MAX_POINTS  1024U
#define PLUGIN_MAX_BUFFER  (64U << 20U) // bytes, of PluginPort::n_bytes
#define PLUGIN_MAX_PRESETS 16384U

/// Identifies the content of a file: it differs when the file has changed.
typedef struct FileKey {
  uint64_t inode, n_bytes, changed_ns; ///< changed_ns: the later of mtime and ctime
} FileKey;

/// A plugin's effect: racks, OSC and plans see `fx`, and the host finds the rest behind it.
typedef struct Plugin {
  FxInfo fx;               ///< First; see plugin_of()
  FxOrigin origin;         ///< FxInfo::origin
  atomic_bool is_outdated; ///< FxInfo::outdated
  const char* name;        ///< For people
  const char* maker;       ///< "" if unknown, as all texts that follow
  const char* licence;
  const char* category; ///< "Reverb"
  const char* bundle;   ///< Folder, LADSPA and CLAP: the file
  const char* binary;   ///< File with the code
  FileKey binary_key;
  bool takes_state;  ///< It may have more than the values of its ports
  const char* state; ///< LV2: file with the state that it begins with; "" or NULL: none
  const char* fault; ///< Why it cannot be used: "needs the feature ..."; "" if it can
  const char* notes; ///< The repairs of its description, separated by "; "
  uint32_t n_ports;
  const PluginPort* ports;
  uint32_t n_presets;
  const PluginPreset* presets;
  const PluginReport* report; ///< NULL: not probed yet
  const int32_t* param_ports; ///< [fx.n_params] place in `ports`, or a PluginWord
  const uint32_t* side_of;    ///< [n_ports] for audio inputs of PORT_SIDECHAIN: index in fx.sides
} Plugin;

/// Parameters of plugin nodes that are not ports.
typedef enum PluginWord {
  PLUGIN_BYPASS = -1, ///< `bypass`: every plugin has it
  PLUGIN_PRESET = -2, ///< `preset`: only with presets
  PLUGIN_VALUES = -3, ///< Of FxInfo::is_missing: the text of all values
  PLUGIN_STATE = -4,  ///< `state`: only if Plugin::takes_state
  PLUGIN_GROUP = -5,  ///< `group`: every plugin has it
  PLUGIN_MUTE = -6,   ///< `mute`: every plugin has it; FxParam::of_engine
  PLUGIN_SOLO = -7,   ///< `solo`: as `mute`
  PLUGIN_RAMP = -8,   ///< `ramp`: as `mute`
  PLUGIN_TEMPO = -9   ///< `host_bpm`: only if plugin_takes_tempo()
} PluginWord;

/// The plugin of an effect with an origin.
static inline const Plugin*
plugin_of(const FxInfo* const fx)
{
  return (const Plugin*)(const void*)fx;
}

/// The parameter `group` of a plugin's effect; -1: a missing plugin has none. [any]
static inline int
plugin_group_param(const FxInfo* const fx)
{
  const Plugin* const plugin = plugin_of(fx);
  int param = -1;
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    param = plugin->param_ports[p] == PLUGIN_GROUP ? (int)p : param;
  }
  return param;
}

/// True if the plugin gets the tempo of the host. [any]
bool plugin_takes_tempo(const Plugin* plugin);

/// True for an input for notes. [any]
static inline bool
plugin_port_takes_notes(const PluginPort* const port)
{
  return port->type == PORT_ATOM && (port->flags & (PORT_EVENTS | PORT_OUTPUT)) == PORT_EVENTS;
}

/// True if a description, as plugin_write() writes it, has an input for notes.  Reads and checks
/// nothing else of it. [any]
bool plugin_text_takes_notes(const char* text, size_t n_bytes);

/// Write a description: a line "plugin", then a line per fact.  What a plugin declares may be any
/// text, which becomes printable; a number that is not finite is refused by plugin_read().
/// [any, not rt]
void plugin_write(TextBuffer* text, const Plugin* plugin);

/**
   Read a description as plugin_write() writes it, and make the parameters of its effect.

   @param text The lines of one plugin, zero-terminated; is changed, and must live as long as the
   plugin, whose texts point into it.
   @param arena Gets everything else of the plugin.
   @param functions The functions for its effect (host.h).
   @return STATUS_FILE with the line and its fault, STATUS_LIMIT, STATUS_NO_MEM.
   [any, not rt]
*/
NODISCARD Status plugin_read(char* text, Arena* arena, const FxInfo* functions, Plugin** out,
                             Error* error);

/// Make FxInfo::params and Plugin::param_ports from the ports. [any, not rt]
NODISCARD Status plugin_make_params(Plugin* plugin, Arena* arena, Error* error);

/// Make FxInfo::sides, FxInfo::is_source and Plugin::side_of from the ports.  Ports of one group
/// are one side input, and so are those without a group.  The only side input of a plugin is
/// "sidechain"; several are named after their groups. [any, not rt]
NODISCARD Status plugin_make_sides(Plugin* plugin, Arena* arena, Error* error);

/// Number of audio inputs, those of side inputs too, or of audio outputs. [any]
uint32_t plugin_count_audio(const Plugin* plugin, bool is_output);

/// The id of a parameter from its name: "Input gain (dB)" is `input_gain`. [any]
#define PLUGIN_ID_BYTES 64U
void plugin_param_id(const char* name, char id[PLUGIN_ID_BYTES]);

/// A name for nodes, from the id of a plugin: "urn:zamaudio:ZamTube" is `ZamTube`,
/// "http://gareus.org/oss/lv2/fil4#stereo" is `fil4-stereo`. [any]
void plugin_short_name(const char* id, char name[PLUGIN_ID_BYTES]);

/// The key of a file.  STATUS_FILE. [any, not rt]
NODISCARD Status file_key(const char* path, FileKey* key, Error* error);

#endif
