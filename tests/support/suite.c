// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the registered tests as one Check suite.

#include "suite.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static SuiteTest* first_test;
static atomic_bool* has_skips; // in memory that all processes of the tests share

void
suite_register(SuiteTest* const test)
{
  // A compiler may call the constructors of a file in any order.
  SuiteTest** at = &first_test;
  while (*at &&
         (strcmp((*at)->test.file, test->test.file) != 0 || (*at)->test.line < test->test.line)) {
    at = &(*at)->next;
  }
  test->next = *at;
  *at = test;
}

void
suite_skip(const char* const why)
{
  printf("skipped: %s\n", why);
  atomic_store(has_skips, true);
}

uint64_t
suite_limit_ns(void)
{
  const char* const multiplier = getenv("CK_TIMEOUT_MULTIPLIER");
  return (uint64_t)((multiplier ? atof(multiplier) : 1.0) * 60.0 * (double)NS_PER_S);
}

int
suite_run_with(const char* const name, void (*const set_up)(void), void (*const tear_down)(void))
{
  setenv("WARPRACK_AUTO_GPU", "none", 0);      // no GPU, unless a test or the environment allows it
  setenv("WARPRACK_USUAL_PLUGINS", "none", 0); // nor the plugins of this machine
  has_skips =
      mmap(NULL, sizeof(*has_skips), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (has_skips == MAP_FAILED) {
    perror("mmap");
    return EXIT_FAILURE;
  }
  Suite* const suite = suite_create(name);
  TCase* const tcase = tcase_create(name);
  tcase_add_checked_fixture(tcase, set_up, tear_down);
  for (const SuiteTest* test = first_test; test; test = test->next) {
    tcase_add_loop_test(tcase, &test->test, 0, test->n_rows);
  }
  suite_add_tcase(suite, tcase);
  SRunner* const runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  if (failed) {
    return EXIT_FAILURE;
  }
  return atomic_load(has_skips) ? TEST_SKIPPED : EXIT_SUCCESS;
}

uint64_t
suite_number(const char* const variable, const uint64_t otherwise)
{
  const char* const text = getenv(variable);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

int
suite_run(const char* const name)
{
  return suite_run_with(name, NULL, NULL);
}
