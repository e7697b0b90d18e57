// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Faults on demand: a list is read whole or refused; a fault fails exactly the occurrences that it
  was armed for; faults for another process are ignored.  The program for users contains no fault,
  the program for tests contains all.
*/

#include "engine/base/faults.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
arm(const char* const list)
{
  OK(faults_arm(list, &error));
}

/// Pass the place of a fault `n` times.  Returns a letter for each: x if it failed, . if not.
static const char*
meet(const FaultId fault, const uint32_t n)
{
  static char letters[64];
  ck_assert_uint_lt(n, sizeof(letters));
  for (uint32_t i = 0; i < n; ++i) {
    letters[i] = fault_is_due(fault) ? 'x' : '.';
  }
  letters[n] = '\0';
  return letters;
}

TEST(a_fault_that_is_not_armed_never_happens)
{
  for (uint32_t f = 0; f < N_FAULTS; ++f) {
    ck_assert_str_eq(meet((FaultId)f, 3), "...");
  }
}

TEST(occurrences_are_counted_from_1)
{
  arm("gpu.hang,worker.crash@3,alloc.fail@3+,fs.eio@2+3");
  ck_assert_str_eq(meet(FAULT_GPU_HANG, 5), "x....");
  ck_assert_str_eq(meet(FAULT_WORKER_CRASH, 5), "..x..");
  ck_assert_str_eq(meet(FAULT_ALLOC_FAIL, 5), "..xxx");
  ck_assert_str_eq(meet(FAULT_FS_EIO, 9), ".x..x..x.");
  faults_disarm();
  ck_assert_str_eq(meet(FAULT_ALLOC_FAIL, 3), "...");
}

TEST(a_clock_that_has_jumped_stays_there)
{
  arm("clock.jump@2=-86400");
  ck_assert_str_eq(meet(FAULT_CLOCK_JUMP, 4), ".xxx");
  ck_assert(fault_value(FAULT_CLOCK_JUMP) == -86400.0);
  faults_disarm();
}

TEST(arming_again_restarts_the_count)
{
  arm("worker.late@2=7.5");
  ck_assert_str_eq(meet(FAULT_WORKER_LATE, 3), ".x.");
  ck_assert(fault_value(FAULT_WORKER_LATE) == 7.5);
  arm("worker.late@2=8");
  ck_assert_str_eq(meet(FAULT_WORKER_LATE, 3), ".x.");
  ck_assert(fault_value(FAULT_WORKER_LATE) == 8.0);
  arm("gpu.error@3=700,gpu.record@2");
  ck_assert_str_eq(meet(FAULT_GPU_ERROR, 2), "..");
  ck_assert_str_eq(meet(FAULT_GPU_RECORD, 1), ".");
  faults_recount(FAULT_GPU_BUILD, FAULT_GPU_RECORD);
  ck_assert_str_eq(meet(FAULT_GPU_ERROR, 3), "..x");
  ck_assert_str_eq(meet(FAULT_GPU_RECORD, 2), ".x");
  faults_disarm();
}

TEST(a_fault_may_name_a_node)
{
  ck_assert(!fault_names(FAULT_WORKER_CRASH_ON, "bad"));
  arm("worker.crash-on=bad,worker.crash-plays@2=worse one");
  ck_assert(fault_names(FAULT_WORKER_CRASH_ON, "bad"));
  ck_assert(!fault_names(FAULT_WORKER_CRASH_ON, "good"));
  ck_assert(fault_names(FAULT_WORKER_CRASH_PLAYS, "worse one"));
  faults_disarm();
  ck_assert(!fault_names(FAULT_WORKER_CRASH_ON, "bad"));
}

TEST(each_process_takes_only_its_own_faults)
{
  arm("worker:alloc.fail@1+,server:fs.eio,fs.full"); // a test counts as a server
  ck_assert_str_eq(meet(FAULT_ALLOC_FAIL, 2), "..");
  ck_assert_str_eq(meet(FAULT_FS_EIO, 2), "x.");
  ck_assert_str_eq(meet(FAULT_FS_FULL, 2), "x.");
  faults_disarm();
}

TEST(a_list_is_read_whole_or_not_at_all)
{
  static const char* const wrong[] = {
    "gpu.hang@0",        "gpu.hang@x",           "gpu.hang@-1", "gpu.hang@1;",   "gpu.else@1",
    "gpu.error@1",       "gpu.error@1=",         "gpu.error=x", "gpu.error=nan", "gpu.hang=1",
    "worker.crash-on",   "worker.crash-on=",     "gpu",         "gpu.hang@2+0",  "gpu.hangs",
    "client:gpu.hang@1", "gpu.hang gpu.error=1",
  };
  Error error;
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    char list[64];
    snprintf(list, sizeof(list), "alloc.fail@1+,%s", wrong[w]);
    ck_assert_msg(faults_arm(list, &error) == STATUS_BAD_ARG, "\"%s\" was read", list);
    assert_says(error.text, wrong[w]);
    ck_assert_str_eq(meet(FAULT_ALLOC_FAIL, 1), ".");
  }
}

TEST(armed_faults_can_be_listed)
{
  char text[256];
  faults_print(text, sizeof(text));
  ck_assert_str_eq(text, "");
  arm("fs.short@4,worker.stop@2+");
  meet(FAULT_WORKER_STOP, 3);
  faults_print(text, sizeof(text));
  ck_assert_str_eq(text, "fs.short@4 met 0 failed 0\nworker.stop@2 met 3 failed 2\n");
  faults_print(text, 10); // the buffer may be shorter
  ck_assert_str_eq(text, "fs.short@");
  faults_disarm();
}

/// Read the program that an environment variable names.
static char*
read_program(const char* const variable, size_t* const n_bytes)
{
  FILE* const file = fopen(getenv(variable), "rb");
  ck_assert_msg(file != NULL, "%s cannot be read", variable);
  fseek(file, 0, SEEK_END);
  *n_bytes = (size_t)ftell(file);
  rewind(file);
  char* const bytes = malloc(*n_bytes);
  ck_assert_uint_eq(fread(bytes, 1, *n_bytes, file), *n_bytes);
  fclose(file);
  return bytes;
}

TEST(the_program_has_faults_only_when_it_is_built_so)
{
#ifdef WARPRACK_FAULTS
  const bool expected = true;
#else
  const bool expected = false;
#endif
  // Texts, and function names in the symbol table.
  static const char* const words[] = {
    "WARPRACK_FAULT", "alloc.fail",        "clock.jump",   "fs.eio",      "fs.full",
    "fs.short",       "gpu.build",         "gpu.error",    "gpu.hang",    "gpu.late",
    "gpu.nomem",      "gpu.record",        "worker.crash", "worker.exit", "worker.garbage",
    "worker.hang",    "worker.kill",       "worker.late",  "worker.nan",  "worker.stop",
    "worker.wrong",   "fault_is_due",      "faults_arm",   "gpu_faults",  "faults_begin",
    "__wrap_malloc",  "a fault on demand",
  };
  size_t n_usual = 0;
  size_t n_faults = 0;
  SCOPED_MEMORY char* const usual = read_program("WARPRACK_PROGRAM", &n_usual);
  SCOPED_MEMORY char* const faults = read_program("WARPRACK_FAULTS_PROGRAM", &n_faults);
  for (uint32_t w = 0; w < ARRAY_LEN(words); ++w) {
    const size_t length = strlen(words[w]);
    ck_assert_msg(memmem(faults, n_faults, words[w], length) != NULL,
                  "\"%s\" is not in the program for tests", words[w]);
    ck_assert_msg((memmem(usual, n_usual, words[w], length) != NULL) == expected,
                  "\"%s\" in the program for users", words[w]);
  }
}

SUITE_MAIN("faults")
