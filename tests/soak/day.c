// SPDX-License-Identifier: GPL-3.0-or-later
/*
   A day of blocks in minutes: a live engine with its worker and an offline engine get the same
   input, block after block, without a pause.  Their outputs must be the same samples to the last,
   and their memory must not grow.

     day BLOCKS [PROGRAM]

   16777216 blocks of 256 frames are a day and a bit at 48 kHz, and take the frame counter past
   2^32.  With PROGRAM, the live engine's worker is a separate process, as in `PROGRAM run`.
   Prints the figures; exit code 0 if they are reached.
*/

#include "engine/engine.h"
#include "tests/support/signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATE_HZ    48000.0
#define BLOCK      256U
#define CHANNELS   2U
#define INPUT      64U // blocks of noise, repeated
#define WARM_UP    20U // fraction of the blocks after which memory is measured
#define GROWTH_KIB 1024L

static const char chain[] =
    "low: highpass 80 order=4 | even: compressor -24dB ratio=3 makeup=6dB | "
    "(dry: gain -3dB + echo: delay 250ms mix=100% feedback=40%) | safe: limiter -1dB";

typedef struct Side {
  Engine* engine;
  float out[CHANNELS][BLOCK];
  uint64_t hash;
} Side;

static void
die(const char* const what, const Error* const error)
{
  fprintf(stderr, "day: %s: %s\n", what, error->text);
  exit(EXIT_FAILURE);
}

static void
side_open(Side* const side, const bool offline, const char* const* const worker_argv)
{
  const EngineConfig config = { .n_in = CHANNELS,
                                .n_out = CHANNELS,
                                .depth = offline ? 0U : 1U,
                                .offline = offline,
                                .backend = ENGINE_BACKEND_CPU,
                                .worker_argv = worker_argv };
  Error error = { STATUS_OK, "" };
  Rack* rack = NULL;
  if (rack_parse(chain, "rack", NULL, &rack, &error) ||
      engine_new(&config, &side->engine, &error) || engine_edit_wait(side->engine, rack, &error) ||
      engine_arm(side->engine, RATE_HZ, BLOCK, CHANNELS, CHANNELS, &error)) {
    die(offline ? "offline" : "live", &error);
  }
  rack_free(rack);
  side->hash = 14695981039346656037U;
}

/// FNV-1a over the bits of the samples.
static void
side_hash(Side* const side)
{
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      uint32_t bits = 0;
      memcpy(&bits, &side->out[c][i], sizeof(bits));
      side->hash = (side->hash ^ bits) * 1099511628211U;
    }
  }
}

static void
side_play(Side* const side, float (*const input)[INPUT * BLOCK], const uint64_t block)
{
  const float* in[CHANNELS];
  float* out[CHANNELS];
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    in[c] = input[c] + block % INPUT * BLOCK;
    out[c] = side->out[c];
  }
  engine_process(side->engine, in, out, BLOCK, true);
}

#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_FREED_MEMORY true // as AddressSanitizer does, so that growth has no meaning
#else
#define KEEPS_FREED_MEMORY false
#endif

/// Resident memory in KiB; 0 without a process.
static long
resident_kib(const int32_t pid)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/statm", pid);
  FILE* const file = pid > 0 ? fopen(path, "re") : NULL;
  long pages = 0;
  if (file && fscanf(file, "%*d %ld", &pages) != 1) {
    pages = 0;
  }
  if (file) {
    fclose(file);
  }
  return pages * (sysconf(_SC_PAGESIZE) / 1024L);
}

static bool
print_figure(const char* const what, const char* const value, const char* const limit,
             const bool good)
{
  printf("figure: %s: %s (%s)%s\n", what, value, limit, good ? "" : " FAILED");
  return good;
}

int
main(const int argc, char** const argv)
{
  const uint64_t n_blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 0U;
  if (!n_blocks || argc > 3) {
    fprintf(stderr, "usage: day BLOCKS [PROGRAM]\n");
    return 2;
  }
  const char* const worker_argv[] = { argc > 2 ? argv[2] : NULL, "worker", NULL };
  static float input[CHANNELS][INPUT * BLOCK];
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    signal_noise(input[c], ARRAY_LEN(input[c]), 1U + c);
  }
  static Side live, offline;
  side_open(&live, false, argc > 2 ? worker_argv : NULL);
  side_open(&offline, true, NULL);
  EngineStatus status;
  engine_status(live.engine, &status);
  long own_kib = 0;
  long worker_kib = 0;
  uint64_t different = 0;
  float expected[CHANNELS][BLOCK];
  for (uint64_t block = 0; block <= n_blocks; ++block) {
    if (block == n_blocks / WARM_UP) {
      own_kib = resident_kib(getpid());
      worker_kib = resident_kib(status.worker_pid);
    }
    side_play(&live, input, block); // the input of the previous block
    if (block) {
      side_hash(&live);
      different += memcmp(live.out, expected, sizeof(expected)) != 0;
    }
    side_play(&offline, input, block);
    side_hash(&offline);
    memcpy(expected, offline.out, sizeof(expected));
    if (block + 1U == n_blocks) {
      printf("offline %016" PRIx64 "\n", offline.hash);
    }
  }
  printf("live    %016" PRIx64 "\n", live.hash);
  own_kib = resident_kib(getpid()) - own_kib;
  worker_kib = resident_kib(status.worker_pid) - worker_kib;
  engine_status(live.engine, &status);
  char value[128];
  snprintf(value, sizeof(value), "%" PRIu64 " of %" PRIu64 " (%.1f h)", different, n_blocks,
           (double)n_blocks * BLOCK / RATE_HZ / 3600.0);
  bool good = print_figure("blocks that differ from the offline render", value, "0", !different);
  snprintf(value, sizeof(value), "%ld KiB, worker %ld KiB", own_kib, worker_kib);
  good &= print_figure("growth of resident memory", value, "under 1024 KiB",
                       KEEPS_FREED_MEMORY || (own_kib < GROWTH_KIB && worker_kib < GROWTH_KIB));
  snprintf(value, sizeof(value), "%" PRIu64, status.counts.late + status.counts.dry);
  good &= print_figure("late or dry blocks", value, "0", !strcmp(value, "0"));
  engine_free(live.engine);
  engine_free(offline.engine);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
