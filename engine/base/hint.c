// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the nearest name to a wrong word, and writes the hint.  Method: optimal string alignment
// distance: Levenshtein's with swaps of neighbours (F. J. Damerau, "A technique for computer
// detection and correction of spelling errors", CACM 7(3), 1964).

#include "hint.h"

#include "status.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAX_LENGTH 64U               // of the compared names
#define LIST_BYTES (HINT_BYTES - 8U) // leaves room for ", ..."

/// Words that users know from other programs.  A row applies only if `right` is among the names, so
/// that one word can stand for an effect in one list and for a parameter in another.
static const struct {
  const char *wrong, *right;
} synonyms[] = {
  // Effects
  { "amp", "gain" },
  { "amplify", "gain" },
  { "balance", "pan" },
  { "bandreject", "bandstop" },
  { "bass", "lowshelf" },
  { "bell", "peaking" },
  { "bp", "bandpass" },
  { "bpf", "bandpass" },
  { "brickwall", "limiter" },
  { "clip", "limiter" },
  { "compand", "compressor" },
  { "convolution", "convolver" },
  { "dc", "dcblock" },
  { "echo", "delay" },
  { "echos", "delay" },
  { "eq", "peaking" },
  { "equaliser", "peaking" },
  { "equalizer", "peaking" },
  { "expander", "gate" },
  { "highcut", "lowpass" },
  { "hp", "highpass" },
  { "hpf", "highpass" },
  { "ir", "convolver" },
  { "loudnorm", "normalize" },
  { "lowcut", "highpass" },
  { "lp", "lowpass" },
  { "lpf", "lowpass" },
  { "maximizer", "limiter" },
  { "mixer", "matrix" },
  { "mute", "gain" },
  { "noisegate", "gate" },
  { "parametric", "peaking" },
  { "phase", "invert" },
  { "polarity", "invert" },
  { "remix", "matrix" },
  { "treble", "highshelf" },
  { "vol", "gain" },
  { "volume", "gain" },
  // Parameters
  { "bandwidth", "q" },
  { "cheby", "chebyshev1" },
  { "coeffs", "file" },
  { "cutoff", "frequency" },
  { "db", "gain" },
  { "depth", "mix" },
  { "dry", "mix" },
  { "drywet", "mix" },
  { "fc", "frequency" },
  { "file", "ir" },
  { "hz", "frequency" },
  { "length", "time" },
  { "lr", "linkwitz-riley" },
  { "lr4", "linkwitz-riley" },
  { "ebur128", "r128" },
  { "loudness", "r128" },
  { "lufs", "r128" },
  { "level", "gain" },
  { "level", "ceiling" },
  { "ms", "time" },
  { "poles", "order" },
  { "resonance", "q" },
  { "room", "size" },
  { "roomsize", "size" },
  { "rt60", "decay" },
  { "slope", "order" },
  { "tempo", "bpm" },
  { "threshold", "ceiling" },
  { "wet", "mix" },
  { "width", "q" },
  // Ends of a rack
  { "capture", "in" },
  { "input", "in" },
  { "output", "out" },
  { "playback", "out" },
  // Commands
  { "apply", "render" },
  { "benchmark", "bench" },
  { "convert", "render" },
  { "describe", "info" },
  { "ls", "list" },
  { "osc", "send" },
  { "oscsend", "send" },
  { "play", "run" },
  { "process", "render" },
  { "serve", "run" },
  { "server", "run" },
  { "show", "info" },
  { "start", "run" },
  { "stats", "status" },
  { "validate", "check" },
  { "verify", "check" },
  // Addresses
  { "delete", "remove" },
  { "state", "status" },
  { "stop", "quit" },
  { "subscribe", "notify" },
  // Options
  { "alsa", "io" },
  { "bind", "osc-bind" },
  { "bits", "format" },
  { "buffer", "block" },
  { "buffer-size", "block" },
  { "client-name", "name" },
  { "driver", "io" },
  { "frames", "block" },
  { "encoding", "format" },
  { "input", "play" },
  { "jack", "io" },
  { "listen", "osc-bind" },
  { "output", "record" },
  { "period", "block" },
  { "port", "osc-port" },
  { "samplerate", "rate" },
  { "sample-rate", "rate" },
};

/// Optimal string alignment distance, ignoring case.
static uint32_t
edit_distance(const char* const a, const uint32_t n_a, const char* const b, const uint32_t n_b)
{
  uint32_t rows[3][MAX_LENGTH + 1U];
  uint32_t* before_last = rows[0];
  uint32_t* last = rows[1];
  uint32_t* now = rows[2];
  for (uint32_t j = 0; j <= n_b; ++j) {
    last[j] = j;
  }
  for (uint32_t i = 1; i <= n_a; ++i) {
    now[0] = i;
    for (uint32_t j = 1; j <= n_b; ++j) {
      const int from = tolower((unsigned char)a[i - 1U]);
      const int to = tolower((unsigned char)b[j - 1U]);
      uint32_t best = last[j - 1U] + (from != to);
      best = last[j] + 1U < best ? last[j] + 1U : best;
      best = now[j - 1U] + 1U < best ? now[j - 1U] + 1U : best;
      if (i > 1U && j > 1U && from == tolower((unsigned char)b[j - 2U]) &&
          to == tolower((unsigned char)a[i - 2U])) {
        best = before_last[j - 2U] + 1U < best ? before_last[j - 2U] + 1U : best;
      }
      now[j] = best;
    }
    uint32_t* const oldest = before_last;
    before_last = last;
    last = now;
    now = oldest;
  }
  return last[n_b];
}

static const char*
find_synonym(const char* const wrong, const char* const* const names, const uint32_t n_names)
{
  for (uint32_t s = 0; s < ARRAY_LEN(synonyms); ++s) {
    for (uint32_t i = 0; i < n_names && !strcasecmp(synonyms[s].wrong, wrong); ++i) {
      if (!strcmp(synonyms[s].right, names[i])) {
        return names[i];
      }
    }
  }
  return NULL;
}

/// The name at the smallest edit distance: at most 1 for words of 2 to 5 letters, at most a third
/// of the letters for longer ones.  A word of one letter is at the same distance from all letters.
static const char*
find_mistyped(const char* const wrong, const char* const* const names, const uint32_t n_names)
{
  const uint32_t n_wrong = (uint32_t)strnlen(wrong, MAX_LENGTH);
  const uint32_t limit = n_wrong < 2U ? 0U : n_wrong < 6U ? 1U : n_wrong / 3U;
  const char* nearest = NULL;
  uint32_t least = limit + 1U;
  for (uint32_t i = 0; i < n_names; ++i) {
    const uint32_t n_name = (uint32_t)strnlen(names[i], MAX_LENGTH);
    const uint32_t distance = edit_distance(wrong, n_wrong, names[i], n_name);
    if (distance < least) {
      least = distance;
      nearest = names[i];
    }
  }
  return nearest;
}

/// The name that begins with the word, or with which the word begins.
static const char*
find_beginning(const char* const wrong, const char* const* const names, const uint32_t n_names)
{
  const size_t n_wrong = strlen(wrong);
  for (uint32_t i = 0; n_wrong && i < n_names; ++i) {
    const size_t n_name = strlen(names[i]);
    if (!strncasecmp(names[i], wrong, n_wrong) ||
        (n_name > 2U && !strncasecmp(names[i], wrong, n_name))) {
      return names[i];
    }
  }
  return NULL;
}

const char*
nearest_name(const char* const wrong, const char* const* const names, const uint32_t n_names)
{
  for (uint32_t i = 0; i < n_names; ++i) {
    if (!strcasecmp(names[i], wrong)) {
      return names[i];
    }
  }
  const char* near = find_synonym(wrong, names, n_names);
  near = near ? near : find_mistyped(wrong, names, n_names);
  return near ? near : find_beginning(wrong, names, n_names);
}

const char*
name_hint(char hint[const HINT_BYTES], const char* const wrong, const char* const* const names,
          const uint32_t n_names)
{
  hint[0] = '\0';
  const char* const near = nearest_name(wrong, names, n_names);
  if (near) {
    snprintf(hint, HINT_BYTES, "did you mean \"%s\"?", near);
    return hint;
  }
  size_t used = 0;
  for (uint32_t i = 0; i < n_names; ++i) {
    const char* const before = i ? ", " : "one of ";
    if (used + strlen(before) + strlen(names[i]) >= LIST_BYTES) {
      strcpy(hint + used, ", ...");
      break;
    }
    used += (size_t)sprintf(hint + used, "%s%s", before, names[i]);
  }
  return hint;
}
