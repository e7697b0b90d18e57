// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the registered tests as one Check suite.

#include "suite.h"

#include <stdlib.h>
#include <string.h>

static SuiteTest* first_test;

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

int
suite_run_with(const char* const name, void (*const set_up)(void), void (*const tear_down)(void))
{
  setenv("WARPRACK_AUTO_GPU", "none", 0); // the CPU, unless a test or its caller asks for more
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
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
suite_run(const char* const name)
{
  return suite_run_with(name, NULL, NULL);
}
