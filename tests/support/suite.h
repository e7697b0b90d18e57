// SPDX-License-Identifier: GPL-3.0-or-later
/// The main function of every test program.
#ifndef WARPRACK_TESTS_SUITE_H
#define WARPRACK_TESTS_SUITE_H

#include <check.h>
#include <stdint.h>

#define TEST_SKIPPED 77 // exit code that the build reports as skipped

/// Run the tests as one Check suite; the program's exit code.
int suite_run(const char* name, const TTest* const* tests, uint32_t n_tests);

/// SUITE_MAIN("gain", first_test, second_test, ...)
#define SUITE_MAIN(name, ...)                                                                      \
  int main(void)                                                                                   \
  {                                                                                                \
    const TTest* const tests[] = { __VA_ARGS__ };                                                  \
    return suite_run(name, tests, (uint32_t)(sizeof(tests) / sizeof(tests[0])));                   \
  }

#endif
