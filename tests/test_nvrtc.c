// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Every kernel is compiled by NVIDIA's compiler for every architecture that matters, and does not
  spill registers.  Needs NVRTC and no GPU.  Prints a table of what each kernel takes:

      build/tests/test_nvrtc [ARCHITECTURE...]     75, 80 ...; default: all of them
*/

#include "support/suite.h"

#include "../dsp_gpu/cuda_private.h"
#include "../dsp_gpu/gpu_compile.h"
#include "../dsp_gpu/nvrtc_compile.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EM_CUDA 190 // e_machine of NVIDIA's ELF files

static uint32_t capabilities[] = { 75, 80, 86, 89, 90, 100, 120 };
static size_t n_capabilities = ARRAY_LEN(capabilities);

// The sizes that a kernel file is compiled for, one row for each set; every file has one at least.
static const struct {
  const char* name;
  const char* options[8];
} size_sets[] = {
  { "fx_cascade.cu", { "-DGROUP_SIZE=32", "-DSPREAD=0" } },
  { "fx_cascade.cu", { "-DGROUP_SIZE=128", "-DSPREAD=1" } },
  { "fx_compressor.cu", { "-DGROUP_SIZE=64", "-DTILE=64", "-DCHANNELS=8" } },
  { "fx_compressor.cu", { "-DGROUP_SIZE=256", "-DTILE=64", "-DCHANNELS=1024" } },
  { "fx_convolver.cu", { "-DGROUP_SIZE=64", "-DPOINTS=32", "-DTAIL_POINTS=0" } },
  { "fx_convolver.cu", { "-DGROUP_SIZE=64", "-DPOINTS=32", "-DTAIL_POINTS=512" } },
  { "fx_convolver.cu", { "-DGROUP_SIZE=128", "-DPOINTS=64", "-DTAIL_POINTS=0" } },
  { "fx_convolver.cu", { "-DGROUP_SIZE=128", "-DPOINTS=64", "-DTAIL_POINTS=1024" } },
  { "fx_convolver.cu", { "-DGROUP_SIZE=256", "-DPOINTS=256", "-DTAIL_POINTS=2048" } },
  { "fx_convolver.cu", { "-DGROUP_SIZE=256", "-DPOINTS=1024", "-DTAIL_POINTS=0" } },
  { "fx_convolver.cu", { "-DGROUP_SIZE=256", "-DPOINTS=2048", "-DTAIL_POINTS=0" } },
  { "fx_delay.cu", { "-DGROUP_SIZE=128", "-DN_LINES=1" } },
  { "fx_delay.cu", { "-DGROUP_SIZE=128", "-DN_LINES=2" } },
  { "fx_fir.cu", { "-DGROUP_SIZE=128", "-DTILE=32" } },
  { "fx_fir.cu", { "-DGROUP_SIZE=128", "-DTILE=64" } },
  { "fx_fir.cu", { "-DGROUP_SIZE=128", "-DTILE=256" } },
  { "fx_fir.cu", { "-DGROUP_SIZE=128", "-DTILE=512" } },
  { "fx_gain.cu", { "-DGROUP_SIZE=128" } },
  { "fx_gate.cu", { "-DGROUP_SIZE=64", "-DTILE=64", "-DCHANNELS=8" } },
  { "fx_gate.cu", { "-DGROUP_SIZE=256", "-DTILE=64", "-DCHANNELS=1024" } },
  { "fx_invert.cu", { "-DGROUP_SIZE=128" } },
  { "fx_limiter.cu", { "-DGROUP_SIZE=64", "-DTILE=64", "-DCHANNELS=8" } },
  { "fx_limiter.cu", { "-DGROUP_SIZE=256", "-DTILE=64", "-DCHANNELS=1024" } },
  { "fx_matrix.cu", { "-DGROUP_SIZE=128" } },
  { "fx_pan.cu", { "-DGROUP_SIZE=128" } },
  { "fx_reverb.cu", { "-DGROUP_SIZE=128" } },
  { "fx_reverb.cu", { "-DGROUP_SIZE=256" } },
  { "selftest.cu", { "-DGROUP_SIZE=32" } },
  { "selftest.cu", { "-DGROUP_SIZE=256" } },
  { "stage.cu", { "-DGROUP_SIZE=64" } },
  { "stage.cu", { "-DGROUP_SIZE=128" } },
  { "done.cu", { "-DGROUP_SIZE=32" } },
};

/// The source of a kernel file, also of the one that is not in kernels/.
static const char*
source_of(const char* const name)
{
  const GpuSource* const source = gpu_source_find(name);
  return source ? source->text : !strcmp(name, "done.cu") ? cuda_done_source : NULL;
}

/// Compile to machine code with ptxas's report in the log.
static Status
compile(const char* const name, const char* const source, const char* const* const options,
        const uint32_t capability, NvrtcResult* const result, Error* const error)
{
  const char* all[12] = { "--ptxas-options=-v" };
  for (uint32_t o = 0; options[o]; ++o) {
    ck_assert_uint_lt(o, 10);
    all[o + 1U] = options[o];
  }
  char* const text = gpu_compile_text(name, source);
  const NvrtcJob job = { .name = name, .source = text, .capability = capability, .options = all };
  const Status status = nvrtc_compile(&job, result, error);
  free(text);
  return status;
}

// The report: for each kernel a line with its name, one with its spills, one with the rest

/// The number in front of `words` in a line, or 0.
static uint32_t
number_before(const char* const line, const char* const words)
{
  const char* at = strstr(line, words);
  if (!at) {
    return 0;
  }
  while (at > line && strchr("0123456789 ", at[-1])) {
    --at;
  }
  return (uint32_t)strtoul(at, NULL, 10);
}

/// Print a row for each kernel of a log; the number of kernels, and of bytes that they spill.
static uint32_t
print_rows(const char* const* const options, const uint32_t capability, char* const log,
           uint32_t* const n_spilled)
{
  char kernel[48] = "";
  uint32_t spills = 0;
  uint32_t n_kernels = 0;
  char* rest = NULL;
  for (char* line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    sscanf(line, "ptxas info : Compiling entry function '%47[^']'", kernel);
    if (strstr(line, "spill stores")) {
      spills = number_before(line, "bytes spill stores") + number_before(line, "bytes spill loads");
    }
    if (strstr(line, "registers")) {
      printf("sm_%-3u %-24s %9u %12u %6u ", capability, kernel, number_before(line, "registers"),
             number_before(line, "bytes smem"), spills);
      for (uint32_t o = 0; options[o]; ++o) {
        printf(" %s", options[o]);
      }
      puts("");
      ck_assert_uint_gt(number_before(line, "registers"), 0);
      ++n_kernels;
      *n_spilled += spills;
    }
  }
  return n_kernels;
}

static uint32_t
n_kernels_in(const char* source)
{
  uint32_t n = 0;
  while ((source = strstr(source, "KERNEL\n"))) {
    ++n;
    ++source;
  }
  return n;
}

static void
compile_and_print(const size_t set, const uint32_t capability)
{
  const char* const name = size_sets[set].name;
  NvrtcResult result;
  Error error = { 0 };
  uint32_t target = 0;
  if (nvrtc_target(capability, &target, &error) || target != capability) {
    printf("sm_%-3u %s: not an architecture of this %s\n", capability, name, nvrtc_version());
    return;
  }
  ck_assert_msg(
      !compile(name, source_of(name), size_sets[set].options, capability, &result, &error),
      "sm_%u: %s", capability, error.text);
  const Elf64_Ehdr* const header = result.cubin;
  ck_assert_uint_gt(result.n_bytes, sizeof(*header));
  ck_assert_mem_eq(header->e_ident, ELFMAG, SELFMAG);
  ck_assert_uint_eq(header->e_machine, EM_CUDA);
  uint32_t n_spilled = 0;
  ck_assert_uint_eq(print_rows(size_sets[set].options, capability, result.log, &n_spilled),
                    n_kernels_in(source_of(name)));
  ck_assert_msg(n_spilled == 0U, "%s spills %u bytes on sm_%u", name, n_spilled, capability);
  free(result.cubin);
  free(result.log);
}

START_TEST(every_kernel_compiles_for_every_architecture)
{
  printf("%s\n%-6s %-24s %9s %12s %6s  sizes\n", nvrtc_version(), "arch", "kernel", "registers",
         "shared bytes", "spills");
  for (size_t set = 0; set < ARRAY_LEN(size_sets); ++set) {
    for (size_t c = 0; c < n_capabilities; ++c) {
      compile_and_print(set, capabilities[c]);
    }
  }
  fflush(stdout);
}
END_TEST

START_TEST(every_kernel_file_has_sizes)
{
  for (uint32_t s = 0; s < gpu_n_sources; ++s) {
    bool is_there = false;
    for (size_t set = 0; set < ARRAY_LEN(size_sets); ++set) {
      is_there = is_there || !strcmp(size_sets[set].name, gpu_sources[s].name);
    }
    ck_assert_msg(is_there, "%s is compiled by no row of size_sets", gpu_sources[s].name);
  }
}
END_TEST

START_TEST(a_wrong_kernel_is_named_with_its_line)
{
  static const char* const options[] = { "-DGROUP_SIZE=32", NULL };
  NvrtcResult result = { 0 };
  Error error = { 0 };
  const char* const source = "KERNEL\nwrong(GLOBAL f32* const out)\n{\n  out[0] = nonsense;\n}\n";
  ck_assert_int_eq(compile("wrong.cu", source, options, 90, &result, &error), STATUS_BAD_ARG);
  ck_assert_msg(strstr(error.text, "wrong.cu(4): error: identifier \"nonsense\"") != NULL, "%s",
                error.text);
  ck_assert_ptr_null(result.cubin);
}
END_TEST

START_TEST(an_unknown_architecture_is_refused)
{
  Error error = { 0 };
  uint32_t target = 0;
  ck_assert_int_eq(nvrtc_target(30, &target, &error), STATUS_NO_BACKEND);
  ck_assert_ptr_nonnull(strstr(error.text, "sm_30"));
  ck_assert_ptr_nonnull(strstr(error.text, nvrtc_version()));
}
END_TEST

int
main(const int argc, char* const argv[])
{
  for (int a = 1; a < argc && (size_t)a <= ARRAY_LEN(capabilities); ++a) {
    capabilities[a - 1] = (uint32_t)strtoul(argv[a], NULL, 10);
    n_capabilities = (size_t)a;
  }
  setvbuf(stdout, NULL, _IOLBF, 0); // a table that ends in a failure is shown up to there
  Error error;
  if (nvrtc_load(&error)) {
    puts(error.text);
    return TEST_SKIPPED;
  }
  const TTest* const tests[] = { every_kernel_compiles_for_every_architecture,
                                 every_kernel_file_has_sizes, a_wrong_kernel_is_named_with_its_line,
                                 an_unknown_architecture_is_refused };
  return suite_run("nvrtc", tests, ARRAY_LEN(tests));
}
