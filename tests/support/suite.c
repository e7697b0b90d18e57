// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a list of tests as one Check suite.

#include "suite.h"

#include <stdlib.h>

int
suite_run(const char* const name, const TTest* const* const tests, const uint32_t n_tests)
{
  setenv("WARPRACK_AUTO_GPU", "none", 0); // the CPU, unless a test or its caller asks for more
  Suite* const suite = suite_create(name);
  TCase* const tcase = tcase_create(name);
  for (uint32_t t = 0; t < n_tests; ++t) {
    tcase_add_test(tcase, tests[t]);
  }
  suite_add_tcase(suite, tcase);
  SRunner* const worker = srunner_create(suite);
  srunner_run_all(worker, CK_ENV);
  const int failed = srunner_ntests_failed(worker);
  srunner_free(worker);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
