// SPDX-License-Identifier: GPL-3.0-or-later
// Packages of a state with its files: what is written is read; a damaged one is refused; names.

#include "engine/contract/package.h"
#include "tests/support/suite.h"

#include "engine/base/macros.h"

#include <stdlib.h>

static PackageFile files[PACKAGE_MAX_FILES];
static uint32_t n_files;

TEST(a_state_without_files_stays_as_it_is)
{
  TextBuffer state = { 0 };
  const TextBuffer none = { 0 };
  text_buffer_add(&state, "a state");
  OK(package_finish(&state, &none, &error));
  ck_assert_str_eq(state.bytes, "a state");
  OK(package_read(state.bytes, state.n, files, &n_files, &error));
  ck_assert_uint_eq(n_files, 1);
  ck_assert_str_eq(files[0].suffix, "state");
  ck_assert_ptr_eq(files[0].bytes, state.bytes);
  ck_assert_uint_eq(files[0].n_bytes, 7);
  free(state.bytes);
}

TEST(a_package_has_the_state_and_then_the_files)
{
  TextBuffer state = { 0 };
  TextBuffer others = { 0 };
  text_buffer_add(&state, "a state");
  ck_assert(package_add(&others, "wav", "file data 3\n\0\1", 14));
  ck_assert(package_add(&others, "data", "", 0));
  OK(package_finish(&state, &others, &error));
  OK(package_read(state.bytes, state.n, files, &n_files, &error));
  ck_assert_uint_eq(n_files, 3);
  ck_assert_str_eq(files[0].suffix, "state");
  ck_assert_mem_eq(files[0].bytes, "a state", 7);
  ck_assert_str_eq(files[1].suffix, "wav");
  ck_assert_uint_eq(files[1].n_bytes, 14);
  ck_assert_mem_eq(files[1].bytes, "file data 3\n\0\1", 14);
  ck_assert_str_eq(files[2].suffix, "data");
  ck_assert_uint_eq(files[2].n_bytes, 0);
  free(state.bytes);
  free(others.bytes);
}

TEST(a_package_is_not_larger_than_a_state)
{
  TextBuffer state = { 0 };
  TextBuffer others = { 0 };
  Error why = { STATUS_OK, "" };
  char* const zeros = calloc(1, FX_STATE_MAX_BYTES);
  ck_assert(!package_add(&others, "wav", zeros, FX_STATE_MAX_BYTES));
  free(others.bytes);
  others = (TextBuffer){ 0 };
  ck_assert(package_add(&others, "wav", zeros, FX_STATE_MAX_BYTES - 100U));
  for (unsigned i = 0; i < 20U; ++i) {
    text_buffer_add(&state, "a state");
  }
  ck_assert_int_eq(package_finish(&state, &others, &why), STATUS_LIMIT);
  assert_says(why.text, "more than 16 MiB with its files");
  free(state.bytes);
  free(others.bytes);
  free(zeros);
}

#define FIRST "# warprack package 1\n"

static const char* const damaged[] = {
  FIRST,
  FIRST "file state 0\n",
  FIRST "file state 8\na state",
  FIRST "file state 6\na state",
  FIRST "file state 7\na statefile wav 1\n",
  FIRST "file state 7\na statefile wav -1\nx",
  FIRST "file state 7\na statefile wav 1 2\nx",
  FIRST "file state 7\na statefile wav\nx",
  FIRST "file state 7\na statefile rack 1\nx",
  FIRST "file state 7\na statefile state 1\nx",
  FIRST "file state 7\na statefile a/b 1\nx",
  FIRST "file state 7\na statefile .. 1\nx",
  FIRST "file state 7\na statefile WAV 1\nx",
  FIRST "file state 7\na statefile ninechars 1\nx",
  FIRST "file wav 7\na state",
  FIRST "file state 99999999999\na state",
};

TEST_ROWS(a_damaged_package_is_refused, damaged)
{
  Error why = { STATUS_OK, "" };
  ck_assert_int_eq(package_read(damaged[row], strlen(damaged[row]), files, &n_files, &why),
                   STATUS_FILE);
  assert_says(why.text, "damaged package");
}

TEST(a_package_with_too_many_files_is_refused)
{
  TextBuffer package = { 0 };
  Error why = { STATUS_OK, "" };
  text_buffer_add(&package, FIRST "file state 1\nx");
  for (uint32_t f = 0; f < PACKAGE_MAX_FILES; ++f) {
    text_buffer_add(&package, "file a 1\nx");
  }
  ck_assert_int_eq(package_read(package.bytes, package.n, files, &n_files, &why), STATUS_FILE);
  free(package.bytes);
}

TEST(a_file_keeps_its_suffix_if_it_is_a_harmless_one)
{
  static const struct {
    const char *name, *suffix;
  } rows[] = { { "a.wav", "wav" },    { "b/c.FLAC", "flac" }, { "a", "data" },
               { "a.", "data" },      { "a.b/c", "data" },    { "a.rack", "data" },
               { "a.state", "data" }, { "a.w v", "data" },    { "a.ninechars", "data" },
               { "x.tar.gz", "gz" },  { ".mp3", "mp3" } };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    char suffix[PACKAGE_SUFFIX_BYTES];
    package_suffix(rows[r].name, suffix);
    ck_assert_str_eq(suffix, rows[r].suffix);
  }
}

TEST(the_name_of_a_file_tells_its_content)
{
  static const FxInfo fx = { .name = "sampler" };
  const PackageFile a = { "wav", "a", 1 };
  const PackageFile b = { "wav", "b", 1 };
  char names[2][FX_STATE_NAME_BYTES];
  package_name(&fx, &a, names[0]);
  package_name(&fx, &b, names[1]);
  ck_assert_str_ne(names[0], names[1]);
  ck_assert_uint_eq(strlen(names[0]), strlen("sampler-0123456789abcdef.wav"));
  ck_assert_int_eq(strncmp(names[0], "sampler-", 8), 0);
  const PackageFile state = { "state", "a", 1 };
  package_name(&fx, &state, names[0]);
  fx_state_name(&fx, "a", 1, names[1]);
  ck_assert_str_eq(names[0], names[1]);
}

SUITE_MAIN("package")
