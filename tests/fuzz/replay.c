// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Runs a fuzz target without libFuzzer: it must survive its examples, earlier findings,
   truncations of both, and a few thousand mutations.

       test_fuzz_<name>                the test
       test_fuzz_<name> examples DIR   writes the examples as files, as libFuzzer's initial corpus
*/

#include "fuzz.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CUTS    64U // of one example
#define MAX_CHANGED 4096U
#define N_CHANGES   40U // of one example

static uint32_t n_visited;

static void
run_exactly(const void* const bytes, const size_t n_bytes)
{
  uint8_t* const exact = malloc(n_bytes + !n_bytes); // a sanitizer detects every access beyond it
  memcpy(exact, bytes, n_bytes);
  (void)LLVMFuzzerTestOneInput(exact, n_bytes);
  free(exact);
}

static void
run_whole(void* const context, const void* const bytes, const size_t n_bytes)
{
  (void)context;
  run_exactly(bytes, n_bytes);
  ++n_visited;
}

static void
run_cut(void* const context, const void* const bytes, const size_t n_bytes)
{
  (void)context;
  const size_t step = n_bytes / MAX_CUTS + 1U;
  for (size_t n = 0; n < n_bytes; n += step) {
    run_exactly(bytes, n);
  }
}

static void
run_changed(void* const context, const void* const bytes, const size_t n_bytes)
{
  uint64_t* const random = context;
  if (n_bytes == 0 || n_bytes > MAX_CHANGED) {
    return;
  }
  uint8_t changed[MAX_CHANGED];
  for (uint32_t n = 0; n < N_CHANGES; ++n) {
    memcpy(changed, bytes, n_bytes);
    for (uint32_t k = 0; k < 1U + n % 4U; ++k) {
      *random = *random * 6364136223846793005U + 1442695040888963407U;
      changed[(*random >> 33U) % n_bytes] = (uint8_t)(*random >> 20U);
    }
    run_exactly(changed, n_bytes);
  }
}

TEST(the_corpus_causes_no_crash)
{
  fuzz_examples(run_whole, NULL);
  ck_assert_uint_gt(n_visited, 0);
  fuzz_visit_files("WARPRACK_FUZZ_FOUND", ".", run_whole, NULL);
}

TEST(the_truncated_corpus_causes_no_crash)
{
  fuzz_examples(run_cut, NULL);
  fuzz_visit_files("WARPRACK_FUZZ_FOUND", ".", run_cut, NULL);
}

TEST(the_mutated_corpus_causes_no_crash)
{
  uint64_t random = 1;
  fuzz_examples(run_changed, &random);
  fuzz_visit_files("WARPRACK_FUZZ_FOUND", ".", run_changed, &random);
}

static void
write_example(void* const context, const void* const bytes, const size_t n_bytes)
{
  char path[512];
  snprintf(path, sizeof(path), "%s/example-%03u", (const char*)context, n_visited++);
  FILE* const file = fopen(path, "wbe");
  if (!file || fwrite(bytes, 1, n_bytes, file) != n_bytes || fclose(file)) {
    perror(path);
    exit(2);
  }
}

int
main(const int argc, char** const argv)
{
  if (argc == 3 && !strcmp(argv[1], "examples")) {
    fuzz_examples(write_example, argv[2]);
    fuzz_visit_files("WARPRACK_FUZZ_FOUND", ".", write_example, argv[2]);
    return 0;
  }
  return suite_run("fuzz");
}
