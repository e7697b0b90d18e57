// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Random edits of a rack that plays, as fast as the engine answers them, on a clock that waits for
   every block: how large is the largest step that one of them makes?

     edits N [PROGRAM]

   The input is a low sine, 100 Hz at -6 dBFS, so that only edits cause the output of a steep
   high-pass at 3 kHz.  With PROGRAM, the engine's worker is a separate process, as in `PROGRAM
   run`.  Prints the figures; exit code 0 when they are reached.
*/

#include "engine/engine.h"
#include "tests/support/signals.h"
#include "tools/random_edits.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATE_HZ   48000.0
#define BLOCK     64U
#define SINE_HZ   100.0
#define PERIOD    480U // frames of the sine
#define REST      8U   // blocks between two edits, after the answer
#define SETTLE    1000U
#define SEED      7U
#define LIMIT_DB  (-60.0)
#define CUTOFF_HZ 3000.0
#define CONTROL   1e-3 // step, linear

/// One section of the high-pass, transposed direct form II.
typedef struct Section {
  double b0, b1, b2, a1, a2, s1, s2;
} Section;

/// Butterworth, 8th order: Robert Bristow-Johnson's cookbook with the four Q of that order.
static void
high_pass_design(Section* const sections)
{
  const double w = 2.0 * M_PI * CUTOFF_HZ / RATE_HZ;
  for (int k = 0; k < 4; ++k) {
    const double q = 0.5 / cos(M_PI * (2 * k + 1) / 16.0);
    const double alpha = sin(w) / (2.0 * q);
    const double a0 = 1.0 + alpha;
    const double b = (1.0 + cos(w)) / 2.0 / a0;
    sections[k] = (Section){
      .b0 = b, .b1 = -2.0 * b, .b2 = b, .a1 = -2.0 * cos(w) / a0, .a2 = (1.0 - alpha) / a0
    };
  }
}

static double
high_pass(Section* const sections, double x)
{
  for (int k = 0; k < 4; ++k) {
    Section* const s = &sections[k];
    const double y = s->b0 * x + s->s1;
    s->s1 = s->b1 * x - s->a1 * y + s->s2;
    s->s2 = s->b2 * x - s->a2 * y;
    x = y;
  }
  return x;
}

/// Control of this program: the response of the high-pass to a step of `height` in the sine.
static double
reading_of(const double height)
{
  Section sections[4];
  high_pass_design(sections);
  double largest = 0.0;
  for (uint32_t i = 0; i < 10U * PERIOD; ++i) {
    const double x = 0.5 * sin(2.0 * M_PI * i / PERIOD) + (i >= 5U * PERIOD ? height : 0.0);
    const double left = fabs(high_pass(sections, x));
    largest = i > 4U * PERIOD && left > largest ? left : largest;
  }
  return decibels(largest);
}

typedef struct Run {
  Engine* engine;
  RandomEdits edits;
  Section sections[4];
  float sine[PERIOD + BLOCK];
  uint64_t frame;
  double largest, at_edit;
  float loudest;
  _Atomic uint32_t answered, refused;
} Run;

static void
die(const char* const what, const Error* const error)
{
  fprintf(stderr, "edits: %s: %s\n", what, error->text);
  exit(EXIT_FAILURE);
}

static void
on_done(void* const context, const EngineReply* const reply)
{
  Run* const run = context;
  if (reply->status) {
    fprintf(stderr, "edits: refused: %s\n", reply->text);
    ++run->refused;
  }
  ++run->answered;
}

static void
play(Run* const run, const bool judged, const uint32_t n_edits)
{
  float out[BLOCK];
  const float* const in = run->sine + run->frame % PERIOD;
  float* const outs[] = { out };
  engine_process(run->engine, &in, outs, BLOCK, true);
  run->frame += BLOCK;
  for (uint32_t i = 0; i < BLOCK; ++i) {
    const double left = fabs(high_pass(run->sections, out[i]));
    run->loudest = fabsf(out[i]) > run->loudest ? fabsf(out[i]) : run->loudest;
    if (judged && left > run->largest) {
      run->largest = left;
      run->at_edit = n_edits;
    }
  }
}

int
main(const int argc, char** const argv)
{
  const uint32_t n_edits = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0U;
  if (!n_edits || argc > 3) {
    fprintf(stderr, "usage: edits N [PROGRAM]\n");
    return 2;
  }
  const char* const worker_argv[] = { argc > 2 ? argv[2] : NULL, "worker", NULL };
  const EngineConfig config = { .n_in = 1,
                                .n_out = 1,
                                .depth = 1,
                                .backend = ENGINE_BACKEND_CPU,
                                .worker_argv = argc > 2 ? worker_argv : NULL };
  static Run run;
  Error error = { STATUS_OK, "" };
  if (random_edits_new(&run.edits, SEED, &error) || engine_new(&config, &run.engine, &error) ||
      engine_edit_wait(run.engine, run.edits.rack, &error) ||
      engine_arm(run.engine, RATE_HZ, BLOCK, 1, 1, &error)) {
    die("start", &error);
  }
  high_pass_design(run.sections);
  signal_sine(run.sine, ARRAY_LEN(run.sine), SINE_HZ, RATE_HZ, 0.5, 0.0);
  for (uint32_t b = 0; b < SETTLE; ++b) {
    play(&run, false, 0);
  }
  EngineStatus before;
  engine_status(run.engine, &before);
  for (uint32_t e = 0; e < n_edits; ++e) {
    if (random_edits_next(&run.edits, &error) ||
        engine_edit(run.engine, run.edits.rack, 0U, on_done, &run)) {
      die("edit", &error);
    }
    while (run.answered <= e) {
      play(&run, true, e);
    }
    for (uint32_t b = 0; b < REST; ++b) {
      play(&run, true, e);
    }
  }
  EngineStatus after;
  engine_status(run.engine, &after);
  const uint64_t late =
      after.counts.late + after.counts.dry - before.counts.late - before.counts.dry;
  // The high-pass reads a step lower than it is, by a known factor; without a step it reads
  // nothing.
  const double quiet_db = reading_of(0.0);
  const double gain_db = reading_of(CONTROL) - decibels(CONTROL);
  const bool can_measure = fabs(gain_db) < 12.0 && quiet_db < LIMIT_DB - 60.0;
  const double largest_db = decibels(run.largest) - gain_db;
  const bool good =
      can_measure && largest_db <= LIMIT_DB && !run.refused && !late && run.loudest > 0.01F;
  printf("control: no step reads %.1f dBFS, one of %.1f dBFS %.1f dBFS\n", quiet_db,
         decibels(CONTROL), reading_of(CONTROL));
  printf("%u edits, %u refused, %llu blocks, %llu late or dry, peak %.1f dBFS\n", n_edits,
         run.refused, (unsigned long long)(after.counts.blocks - before.counts.blocks),
         (unsigned long long)late, decibels((double)run.loudest));
  printf("figure: largest step in %u edits: %.1f dBFS, at edit %.0f (at most %.0f dBFS)%s\n",
         n_edits, largest_db, run.at_edit, LIMIT_DB, good ? "" : " FAILED");
  engine_free(run.engine);
  random_edits_clear(&run.edits);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
