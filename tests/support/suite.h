// SPDX-License-Identifier: GPL-3.0-or-later
/// The main function of every test program, and the tests that it runs.
#ifndef WARPRACK_TESTS_SUITE_H
#define WARPRACK_TESTS_SUITE_H

#include "engine/base/status.h"
#include "engine/base/time.h"

#include <check.h>
#include <string.h>

#define TEST_SKIPPED 77 // exit code that the build reports as skipped

/// A test of this program.  TEST() and TEST_ROWS() register it before main().
typedef struct SuiteTest {
  TTest test;
  int n_rows; ///< Number of runs of the test
  struct SuiteTest* next;
} SuiteTest;

/// Add a test to the suite.  Constructors call it, before main().
void suite_register(SuiteTest* test);

/// Print why this machine does not allow the current test.  The caller returns from the test.
void suite_skip(const char* why);

/// The longest wait for a condition: 60 s times CK_TIMEOUT_MULTIPLIER, as for the limit of a test.
uint64_t suite_limit_ns(void);

/// The number in a variable of the environment; `otherwise` if it is not set.
uint64_t suite_number(const char* variable, uint64_t otherwise);

/// `TEST(name_of_the_test) { ... }`
#define TEST(name) SUITE_TEST(name, 1, no_row)

/// A test that runs once for each row of an array.  The body has the index `row`; a failure prints
/// it after the name of the test.
#define TEST_ROWS(name, rows) SUITE_TEST(name, sizeof(rows) / sizeof((rows)[0]), row)

/// `OK(rack_check(rack, &error));` fails the test unless the call returns STATUS_OK, and prints the
/// error.  `error` is a variable of the macro.
#define OK(call)                                                                                   \
  do {                                                                                             \
    Error error = { STATUS_OK, "" };                                                               \
    const Status status_ = (call);                                                                 \
    ck_assert_msg(status_ == STATUS_OK, "%s: %s", status_text(status_), error.text);               \
  } while (0)

/// Fails the test unless `text` contains `part`.
#define assert_says(text, part) ck_assert_msg(strstr(text, part), "no '%s' in: %s", part, text)

/// Wait until the condition, which is evaluated every 0.5 ms, is true.  Fails the test after 60 s,
/// or a multiple (see suite_limit_ns()).
#define AWAIT(condition)                                                                           \
  do {                                                                                             \
    const uint64_t end_ns_ = time_now_ns() + suite_limit_ns();                                     \
    while (!(condition)) {                                                                         \
      ck_assert_msg(time_now_ns() < end_ns_, "waited in vain for: %s", #condition);                \
      time_sleep(NS_PER_MS / 2U);                                                                  \
    }                                                                                              \
  } while (0)

#define SUITE_TEST(name, n, parameter)                                                             \
  static void name(int parameter);                                                                 \
  __attribute__((constructor)) static void register_##name(void)                                   \
  {                                                                                                \
    static SuiteTest test = { { #name, name, __FILE__, __LINE__ }, (int)(n), NULL };               \
    suite_register(&test);                                                                         \
  }                                                                                                \
  static void name(__attribute__((unused)) const int parameter)

/// Run all tests as one Check suite, in the order of the file.  Returns the program's exit code:
/// TEST_SKIPPED if no test failed and one called suite_skip().
int suite_run(const char* name);

/// suite_run() that calls set_up() before and tear_down() after each test; either may be NULL.
int suite_run_with(const char* name, void (*set_up)(void), void (*tear_down)(void));

/// SUITE_MAIN("gain") or SUITE_MAIN_WITH("control", start, stop): the main function.
#define SUITE_MAIN(name) SUITE_MAIN_WITH(name, NULL, NULL)
#define SUITE_MAIN_WITH(name, set_up, tear_down)                                                   \
  int main(void)                                                                                   \
  {                                                                                                \
    return suite_run_with(name, set_up, tear_down);                                                \
  }

#endif
