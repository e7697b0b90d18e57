// SPDX-License-Identifier: GPL-3.0-or-later
/*
  NVIDIA's compiler compiles every kernel for every supported architecture without register spills.
  Needs NVRTC and no GPU.  Prints a table of the resources of each kernel:

      build/tests/test_nvrtc [ARCHITECTURE...]     75, 80 ...; default: all of them
*/

#include "dsp_gpu/cuda/cuda_private.h"
#include "dsp_gpu/cuda/nvrtc_compile.h"
#include "dsp_gpu/device.h"
#include "dsp_gpu/gpu_compile.h"
#include "engine/contract/effect.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EM_CUDA 190 // e_machine of NVIDIA's ELF files

static uint32_t capabilities[] = { 75, 80, 86, 89, 90, 100, 120 };
static size_t n_capabilities = ARRAY_LEN(capabilities);

#define MOST_OPTIONS (2U + FX_KERNEL_SIZES)
#define MOST_SETS    256U

/// The sizes for which a kernel file is compiled.
typedef struct SizeSet {
  char name[32];
  char texts[MOST_OPTIONS][32];
  const char* options[MOST_OPTIONS]; ///< Into texts, NULL-terminated
} SizeSet;

static SizeSet size_sets[MOST_SETS]; ///< [n_size_sets] Requests of the effects, and fixed_sets
static size_t n_size_sets;

/// Kernel files that belong to no effect.
static const struct {
  const char* name;
  uint32_t group_size;
} fixed_sets[] = {
  { "selftest.cu", 32 }, { "selftest.cu", 256 }, { "stage.cu", 64 },
  { "stage.cu", 128 },   { "done.cu", 32 },
};

/// Add a set, unless it exists.
static void
add_set(const char* const name, const uint32_t group_size, const FxKernelSize* const sizes)
{
  ck_assert_uint_lt(n_size_sets, MOST_SETS);
  SizeSet* const set = &size_sets[n_size_sets];
  memset(set, 0, sizeof(*set));
  snprintf(set->name, sizeof(set->name), "%s", name);
  uint32_t n = 0;
  snprintf(set->texts[n++], sizeof(set->texts[0]), "-DGROUP_SIZE=%u", group_size);
  for (uint32_t s = 0; sizes && s < FX_KERNEL_SIZES && sizes[s].name; ++s) {
    snprintf(set->texts[n++], sizeof(set->texts[0]), "-D%s=%u", sizes[s].name, sizes[s].value);
  }
  bool is_new = true;
  for (size_t s = 0; s < n_size_sets; ++s) {
    is_new = is_new && (strcmp(size_sets[s].name, set->name) != 0 ||
                        memcmp(size_sets[s].texts, set->texts, sizeof(set->texts)) != 0);
  }
  for (uint32_t o = 0; o < n; ++o) {
    set->options[o] = set->texts[o];
  }
  n_size_sets += is_new;
}

static void
add_shape(void* const context, const FxInfo* const fx, const FxKernelShape* const shape)
{
  (void)context;
  for (uint32_t p = 0; p < shape->n_passes; ++p) {
    add_set(shape->file ? shape->file : fx->kernel->file, shape->passes[p].group_size,
            shape->sizes);
  }
}

static void
add_effect(const FxInfo* const fx)
{
  static const uint32_t blocks[] = { 32, 64, 256, 1024, 2048 };
  for (uint32_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    device_list_shapes(fx, 48000.0, blocks[b], add_shape, NULL);
  }
}

static void
make_size_sets(void)
{
  uint32_t n_effects = 0;
  const FxInfo* const* const effects = fx_table(&n_effects);
  n_size_sets = 0;
  for (uint32_t e = 0; e < n_effects; ++e) {
    if (effects[e]->kernel) {
      add_effect(effects[e]);
    }
  }
  for (size_t s = 0; s < ARRAY_LEN(fixed_sets); ++s) {
    add_set(fixed_sets[s].name, fixed_sets[s].group_size, NULL);
  }
}

/// The source of a kernel file, also of the one that is not in kernels/.
static const char*
source_of(const char* const name)
{
  const GpuSource* const source = gpu_source_find(name);
  return source ? source->text : !strcmp(name, "done.cu") ? cuda_done_source : NULL;
}

/// The first way for a device, with a driver that is newer than any compiler.
static Status
first_way(const uint32_t capability, NvrtcWay* const way, Error* const error)
{
  const NvrtcMachine machine = { UINT32_MAX, capability };
  return nvrtc_way(&machine, 0, way, error);
}

/// Compile; for machine code the log has the report of ptxas.
static Status
compile(const char* const name, const char* const source, const char* const* const options,
        const uint32_t capability, NvrtcResult* const result, Error* const error)
{
  const char* all[12] = { "--ptxas-options=-v" };
  for (uint32_t o = 0; options[o]; ++o) {
    ck_assert_uint_lt(o, 10);
    all[o + 1U] = options[o];
  }
  SCOPED_MEMORY char* const text = gpu_compile_text(name, source);
  const NvrtcJob job = { .name = name, .source = text, .options = all };
  NvrtcWay way;
  Status status = first_way(capability, &way, error);
  status = status ? status : nvrtc_compile(&way, &job, result, error);
  return status;
}

// The report has three lines for each kernel: its name, its spills, its other resources

/// The number before `words` in a line; 0 if there is none.
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

/// Print a row for each kernel of a log; returns the number of kernels and of spilled bytes.
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
n_times(const char* source, const char* const word)
{
  uint32_t n = 0;
  while ((source = strstr(source, word))) {
    ++n;
    ++source;
  }
  return n;
}

static uint32_t
n_kernels_in(const char* const source)
{
  return n_times(source, "KERNEL\n") + n_times(source, "KERNEL_OF(");
}

static void
compile_and_print(const size_t set, const uint32_t capability)
{
  const char* const name = size_sets[set].name;
  NvrtcResult result;
  Error error = { 0 };
  NvrtcWay way;
  if (first_way(capability, &way, &error) || way.is_ptx || way.target != capability) {
    printf("sm_%-3u %s: not an architecture of this NVRTC\n", capability, name);
    return;
  }
  ck_assert_msg(
      !compile(name, source_of(name), size_sets[set].options, capability, &result, &error),
      "sm_%u: %s", capability, error.text);
  const Elf64_Ehdr* const header = result.code;
  ck_assert_uint_gt(result.n_bytes, sizeof(*header));
  ck_assert_mem_eq(header->e_ident, ELFMAG, SELFMAG);
  ck_assert_uint_eq(header->e_machine, EM_CUDA);
  uint32_t n_spilled = 0;
  ck_assert_uint_eq(print_rows(size_sets[set].options, capability, result.log, &n_spilled),
                    n_kernels_in(source_of(name)));
  ck_assert_msg(n_spilled == 0U, "%s spills %u bytes on sm_%u", name, n_spilled, capability);
  free(result.code);
  free(result.log);
}

TEST(every_kernel_compiles_for_every_architecture)
{
  make_size_sets();
  NvrtcWay way;
  OK(first_way(capabilities[0], &way, &error));
  printf("%s\n%-6s %-24s %9s %12s %6s  sizes\n", nvrtc_version(&way), "arch", "kernel", "registers",
         "shared bytes", "spills");
  for (size_t set = 0; set < n_size_sets; ++set) {
    for (size_t c = 0; c < n_capabilities; ++c) {
      compile_and_print(set, capabilities[c]);
    }
  }
  fflush(stdout);
}

TEST(every_kernel_file_has_sizes)
{
  make_size_sets();
  for (uint32_t s = 0; s < gpu_n_sources; ++s) {
    bool is_there = false;
    for (size_t set = 0; set < n_size_sets; ++set) {
      is_there = is_there || !strcmp(size_sets[set].name, gpu_sources[s].name);
    }
    ck_assert_msg(is_there, "%s: no effect uses it, and it is not in fixed_sets",
                  gpu_sources[s].name);
  }
}

TEST(a_wrong_kernel_is_named_with_its_line)
{
  static const char* const options[] = { "-DGROUP_SIZE=32", NULL };
  NvrtcResult result = { 0 };
  Error error = { 0 };
  const char* const source = "KERNEL\nwrong(GLOBAL f32* const out)\n{\n  out[0] = nonsense;\n}\n";
  ck_assert_int_eq(compile("wrong.cu", source, options, 90, &result, &error), STATUS_BAD_ARG);
  assert_says(error.text, "wrong.cu(4): error: identifier \"nonsense\"");
  ck_assert_ptr_null(result.code);
}

TEST(an_unknown_architecture_is_refused)
{
  Error error = { 0 };
  NvrtcWay way;
  ck_assert_int_eq(first_way(30, &way, &error), STATUS_NO_BACKEND);
  assert_says(error.text, "sm_30");
  ck_assert(!first_way(90, &way, NULL));
  assert_says(error.text, nvrtc_version(&way));
}

TEST(a_future_architecture_gets_ptx)
{
  NvrtcWay way;
  OK(first_way(990, &way, &error));
  ck_assert(way.is_ptx);
  const NvrtcJob job = { .name = "empty.cu",
                         .source = "extern \"C\" __global__ void empty(void) {}",
                         .options = (const char* const[]){ NULL } };
  NvrtcResult result;
  OK(nvrtc_compile(&way, &job, &result, &error));
  char target[32];
  snprintf(target, sizeof(target), ".target sm_%u", way.target);
  const char* const ptx = result.code;
  assert_says(ptx, target);
  ck_assert_uint_eq(strlen(ptx) + 1U, result.n_bytes);
  free(result.code);
  free(result.log);
}

int
main(const int argc, char* const argv[])
{
  for (int a = 1; a < argc && (size_t)a <= ARRAY_LEN(capabilities); ++a) {
    capabilities[a - 1] = (uint32_t)strtoul(argv[a], NULL, 10);
    n_capabilities = (size_t)a;
  }
  setvbuf(stdout, NULL, _IOLBF, 0); // so that a failure does not lose the rows before it
  Error error;
  if (nvrtc_load(&error)) {
    puts(error.text);
    return TEST_SKIPPED;
  }
  return suite_run("nvrtc");
}
