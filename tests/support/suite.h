// SPDX-License-Identifier: GPL-3.0-or-later
/// The main function of every test program, and the tests that it runs.
#ifndef WARPRACK_TESTS_SUITE_H
#define WARPRACK_TESTS_SUITE_H

#include <check.h>

#define TEST_SKIPPED 77 // exit code that the build reports as skipped

/// A test of this program. A test registers itself.
typedef struct SuiteTest {
  TTest test;
  int n_rows; ///< How often the test runs
  struct SuiteTest* next;
} SuiteTest;

/// Called before main().
void suite_register(SuiteTest* test);

/// `TEST(name_of_the_test) { ... }`
#define TEST(name) SUITE_TEST(name, 1, no_row)

/// The same for each row of an array: the body reads `row`, which a failure prints after the name.
#define TEST_ROWS(name, rows) SUITE_TEST(name, sizeof(rows) / sizeof((rows)[0]), row)

#define SUITE_TEST(name, n, parameter)                                                             \
  static void name(int parameter);                                                                 \
  __attribute__((constructor)) static void register_##name(void)                                   \
  {                                                                                                \
    static SuiteTest test = { { #name, name, __FILE__, __LINE__ }, (int)(n), NULL };               \
    suite_register(&test);                                                                         \
  }                                                                                                \
  static void name(__attribute__((unused)) const int parameter)

/// Run all tests as one Check suite, in the order of their file; the program's exit code.
int suite_run(const char* name);

/// The same, with a function before and one after each test; either may be NULL.
int suite_run_with(const char* name, void (*set_up)(void), void (*tear_down)(void));

/// SUITE_MAIN("gain") or SUITE_MAIN_WITH("control", start, stop): the main function.
#define SUITE_MAIN(name) SUITE_MAIN_WITH(name, NULL, NULL)
#define SUITE_MAIN_WITH(name, set_up, tear_down)                                                   \
  int main(void)                                                                                   \
  {                                                                                                \
    return suite_run_with(name, set_up, tear_down);                                                \
  }

#endif
