// SPDX-License-Identifier: GPL-3.0-or-later
// The peer of `warprack bench conv`: the same convolutions by zita-convolver (Fons Adriaensen), in
// the configuration that suits it best: vector mode, measured FFT plans, its own growth of
// partitions from the block size on, one set of spectra for all channels.  It works in `sync` mode,
// where a block waits for the threads that do the larger partitions, on one core for all: every
// block's time is all of the work, none of it is late.
//
//   zita_peer CHANNELS BLOCK_FRAMES IR_FRAMES LARGEST_PARTITION N_BLOCKS [matrix]
//
// prints the processor time that all its threads took for N_BLOCKS, and then the time of each
// block, in nanoseconds, one per line.  With `matrix`, a response of its own leads from every
// channel to every channel; without, several of its objects, of 64 channels each, share the work.

#include <zita-convolver.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

static double
now_ns(const clockid_t clock)
{
  timespec now;
  clock_gettime(clock, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

static std::vector<float>
noise(const uint32_t n_frames, const float gain)
{
  std::vector<float> samples(n_frames);
  uint32_t state = 1;
  for (float& sample : samples) {
    state = state * 1664525U + 1013904223U;
    sample = gain * (static_cast<float>(state >> 8U) / 8388608.0F - 1.0F);
  }
  return samples;
}

struct Work {
  uint32_t n, block, ir_frames, largest, n_blocks; // n: channels of one object
  bool matrix;
};

static bool
set_up(Convproc& convproc, const Work& work)
{
  const uint32_t n = work.n;
  const int32_t ir_frames = static_cast<int32_t>(work.ir_frames);
  const uint32_t smallest = work.block > Convproc::MINPART ? work.block : +Convproc::MINPART;
  std::vector<float> ir = noise(work.ir_frames, 0.01F);
  convproc.set_options(Convproc::OPT_VECTOR_MODE | Convproc::OPT_FFTW_MEASURE);
  bool good = !convproc.configure(n, n, work.ir_frames, work.block, smallest,
                                  work.largest > smallest ? work.largest : smallest, 0.0F);
  for (uint32_t c = 0; good && c < n; ++c) {
    for (uint32_t out = 0; work.matrix && good && out < n; ++out) {
      good = !convproc.impdata_create(c, out, 1, ir.data(), 0, ir_frames);
    }
    if (!work.matrix) {
      good = c ? !convproc.impdata_link(0, 0, c, c)
               : !convproc.impdata_create(0, 0, 1, ir.data(), 0, ir_frames);
    }
  }
  return good && !convproc.start_process(0, SCHED_OTHER);
}

/// True if the last block is right.  The input repeats a block, so that the output is its circular
/// convolution with the response, folded to the length of a block.
static bool
is_right(const Convproc& convproc, const Work& work, const std::vector<float>& in)
{
  const std::vector<float> ir = noise(work.ir_frames, 0.01F);
  std::vector<double> folded(work.block);
  for (uint32_t i = 0; i < work.ir_frames; ++i) {
    folded[i % work.block] += (work.matrix ? work.n : 1.0) * static_cast<double>(ir[i]);
  }
  double error = 0.0;
  double highest = 0.0;
  for (uint32_t i = 0; i < work.block; ++i) {
    double wanted = 0.0;
    for (uint32_t k = 0; k < work.block; ++k) {
      wanted += folded[k] * static_cast<double>(in[(i + work.block - k) % work.block]);
    }
    highest = std::max(highest, std::abs(wanted));
    for (uint32_t c = 0; c < work.n; ++c) {
      error = std::max(error, std::abs(static_cast<double>(convproc.outdata(c)[i]) - wanted));
    }
  }
  return error <= 1e-4 * highest;
}

int
main(const int argc, char** const argv)
{
  if (argc != 6 && argc != 7) {
    fprintf(stderr, "usage: zita_peer CHANNELS BLOCK_FRAMES IR_FRAMES LARGEST N_BLOCKS [matrix]\n");
    return 2;
  }
  uint32_t numbers[5];
  for (int i = 0; i < 5; ++i) {
    numbers[i] = static_cast<uint32_t>(atoi(argv[i + 1]));
  }
  const uint32_t n_objects = (numbers[0] + Convproc::MAXINP - 1U) / Convproc::MAXINP;
  const Work work = {
    numbers[0] / n_objects, numbers[1], numbers[2], numbers[3], numbers[4], argc == 7
  };
  auto* const objects = new Convproc[n_objects]; // their threads outlive main: see the end
  for (uint32_t i = 0; i < n_objects; ++i) {
    if (numbers[0] % n_objects || (work.matrix && i) || !set_up(objects[i], work)) {
      return 2; // a size that zita-convolver does not do: the caller says so
    }
  }
  const std::vector<float> in = noise(work.block, 1.0F);
  const uint32_t n_before = work.ir_frames / work.block; // fill its memory first
  std::vector<double> times_ns;
  double cpu_began_ns = 0.0;
  for (uint32_t b = 0; b < n_before + work.n_blocks; ++b) {
    if (b == n_before) {
      cpu_began_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    }
    const double began_ns = now_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < n_objects; ++i) {
      for (uint32_t c = 0; c < work.n; ++c) {
        memcpy(objects[i].inpdata(c), in.data(), work.block * sizeof(float));
      }
      if (objects[i].process(true)) {
        fprintf(stderr, "zita_peer: late\n");
        return 1;
      }
    }
    if (b >= n_before) {
      times_ns.push_back(now_ns(CLOCK_MONOTONIC) - began_ns);
    }
  }
  const double cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_began_ns;
  for (uint32_t i = 0; i < n_objects; ++i) {
    if (!is_right(objects[i], work, in)) {
      fprintf(stderr, "zita_peer: wrong result\n");
      return 1;
    }
  }
  printf("%.0f\n", cpu_ns);
  for (const double time_ns : times_ns) {
    printf("%.0f\n", time_ns);
  }
  fflush(stdout);
  _Exit(0); // stopping its threads has nothing to do with the measurement
}
