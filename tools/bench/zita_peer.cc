// SPDX-License-Identifier: GPL-3.0-or-later
// The peer of `warprack bench conv`: the same convolutions by zita-convolver (Fons Adriaensen), in
// the configuration that suits it best: vector mode, measured FFT plans, its own growth of
// partitions from the block size on, one set of spectra for all channels.  It works in `sync` mode,
// where a block waits for the threads that do the larger partitions, on one core for all: every
// block's time is all of the work, none of it is late.
//
//   zita_peer CONVOLUTIONS BLOCK_FRAMES IR_FRAMES LARGEST_PARTITION N_BLOCKS
//
// prints the processor time that all its threads took for N_BLOCKS, and then the time of each
// block, in nanoseconds, one per line.

#include <zita-convolver.h>

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

static bool
set_up(Convproc& convproc, const uint32_t n, const uint32_t block, const uint32_t ir_frames,
       const uint32_t largest)
{
  const uint32_t smallest = block > Convproc::MINPART ? block : +Convproc::MINPART;
  std::vector<float> ir = noise(ir_frames, 0.01F);
  convproc.set_options(Convproc::OPT_VECTOR_MODE | Convproc::OPT_FFTW_MEASURE);
  bool good = !convproc.configure(n, n, ir_frames, block, smallest,
                                  largest > smallest ? largest : smallest, 0.0F) &&
              !convproc.impdata_create(0, 0, 1, ir.data(), 0, static_cast<int32_t>(ir_frames));
  for (uint32_t c = 1; good && c < n; ++c) {
    good = !convproc.impdata_link(0, 0, c, c);
  }
  return good && !convproc.start_process(0, SCHED_OTHER);
}

int
main(const int argc, char** const argv)
{
  if (argc != 6) {
    fprintf(stderr, "usage: zita_peer CONVOLUTIONS BLOCK_FRAMES IR_FRAMES LARGEST N_BLOCKS\n");
    return 2;
  }
  const uint32_t n = static_cast<uint32_t>(atoi(argv[1]));
  const uint32_t block = static_cast<uint32_t>(atoi(argv[2]));
  const uint32_t ir_frames = static_cast<uint32_t>(atoi(argv[3]));
  const uint32_t n_blocks = static_cast<uint32_t>(atoi(argv[5]));
  static Convproc convproc; // its threads outlive main: see the end
  if (!set_up(convproc, n, block, ir_frames, static_cast<uint32_t>(atoi(argv[4])))) {
    return 2; // a block size that zita-convolver does not do: the caller says so
  }
  const std::vector<float> in = noise(block, 1.0F);
  const uint32_t n_before = ir_frames / block; // fill its memory first
  std::vector<double> times_ns;
  double cpu_began_ns = 0.0;
  for (uint32_t b = 0; b < n_before + n_blocks; ++b) {
    if (b == n_before) {
      cpu_began_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    }
    const double began_ns = now_ns(CLOCK_MONOTONIC);
    for (uint32_t c = 0; c < n; ++c) {
      memcpy(convproc.inpdata(c), in.data(), block * sizeof(float));
    }
    if (convproc.process(true)) {
      fprintf(stderr, "zita_peer: late\n");
      return 1;
    }
    if (b >= n_before) {
      times_ns.push_back(now_ns(CLOCK_MONOTONIC) - began_ns);
    }
  }
  printf("%.0f\n", now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_began_ns);
  for (const double time_ns : times_ns) {
    printf("%.0f\n", time_ns);
  }
  fflush(stdout);
  _Exit(0); // stopping its threads has nothing to do with the measurement
}
