// SPDX-License-Identifier: GPL-3.0-or-later
// Files with states keep every byte, and are refused if a byte is wrong or missing, or if they are
// of another plugin or no regular files.

#include "plugins/state_file.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const FxOrigin origin = { "lv2", "urn:test:a" };
static const StatePart parts[] = { { "a\0b\n", 4 }, { "", 0 }, { "ccc", 3 } };

static TextBuffer
file_of(const StatePart* const list, const uint32_t n)
{
  TextBuffer file = { 0 };
  OK(state_file_write(&origin, list, n, &file, &error));
  return file;
}

static Status
parse(const char* const bytes, const size_t n_bytes, Error* const error)
{
  StateFile file = { 0 };
  const Status status = state_file_parse(&origin, bytes, n_bytes, &file, error);
  ck_assert(status || file.n_parts);
  ck_assert(!status || !file.n_parts);
  state_file_clear(&file);
  return status;
}

TEST(parts_return_as_they_were)
{
  TextBuffer bytes = file_of(parts, 3);
  StateFile file = { 0 };
  OK(state_file_parse(&origin, bytes.bytes, bytes.n, &file, &error));
  ck_assert_uint_eq(file.n_parts, 3);
  ck_assert_uint_eq(state_file_bytes(&file), 7 + 3 * sizeof(StatePart));
  for (uint32_t i = 0; i < 6; ++i) { // more instances begin again with the first part
    const StatePart* const part = state_file_part(&file, i);
    ck_assert_uint_eq(part->n_bytes, parts[i % 3U].n_bytes);
    ck_assert_mem_eq(part->bytes, parts[i % 3U].bytes, part->n_bytes);
  }
  state_file_clear(&file);
  ck_assert_ptr_null(state_file_part(&file, 0));
  free(bytes.bytes);
}

TEST(equal_parts_are_stored_once)
{
  const StatePart equal[] = { parts[0], parts[0] };
  TextBuffer one = file_of(parts, 1);
  TextBuffer two = file_of(equal, 2);
  ck_assert_str_eq(one.bytes, two.bytes);
  ck_assert_uint_eq(one.n, two.n);
  free(one.bytes);
  free(two.bytes);
}

TEST(a_file_that_is_cut_off_anywhere_is_refused)
{
  TextBuffer file = file_of(parts, 3);
  for (size_t n = 0; n < file.n; ++n) {
    Error error = { STATUS_OK, "" };
    ck_assert_msg(parse(file.bytes, n, &error) == STATUS_FILE, "%zu bytes", n);
  }
  OK(parse(file.bytes, file.n, &error));
  free(file.bytes);
}

TEST(a_file_with_a_wrong_byte_anywhere_is_refused)
{
  TextBuffer file = file_of(parts, 3);
  for (size_t b = 0; b < file.n; ++b) {
    Error error = { STATUS_OK, "" };
    file.bytes[b] ^= 1;
    ck_assert_msg(parse(file.bytes, file.n, &error) == STATUS_FILE, "byte %zu", b);
    file.bytes[b] ^= 1;
  }
  free(file.bytes);
}

static const struct {
  const char* bytes;
  const char* says;
} bad[] = {
  { "", "not a state that /node/<node>/state/save has written" },
  { "RIFF\n", "not a state" },
  { "# warprack state 1\n# lv2 urn:test:ab\n# parts 1: 0\n", "another plugin: lv2 urn:test:ab" },
  { "# warprack state 1\n# clap urn:test:a\n", "another plugin: clap urn:test:a" },
  { "# warprack state 1\n# lv2 urn:test:a\n# parts 0:\n# hash 0\n", "damaged or cut off" },
  { "# warprack state 1\n# lv2 urn:test:a\n# parts 1025:", "damaged or cut off" },
  { "# warprack state 1\n# lv2 urn:test:a\n# parts 9999999999999999:", "damaged or cut off" },
  { "# warprack state 1\n# lv2 urn:test:a\n# parts 1: 16777217\n# hash 0\n", "damaged or cut off" },
  { "# warprack state 1\n# lv2 urn:test:a\n# parts 1: -1\n# hash 0\n", "damaged or cut off" },
};

TEST_ROWS(other_files_are_refused_with_the_reason, bad)
{
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(parse(bad[row].bytes, strlen(bad[row].bytes), &error), STATUS_FILE);
  assert_says(error.text, bad[row].says);
}

TEST(a_state_has_a_limit)
{
  const StatePart huge = { calloc(1, FX_STATE_MAX_BYTES), FX_STATE_MAX_BYTES };
  TextBuffer file = { 0 };
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(state_file_write(&origin, &huge, 1, &file, &error), STATUS_LIMIT);
  ck_assert_str_eq(error.text, "its state has more than 16 MiB");
  free(file.bytes);
  TextBuffer buffer = { 0 };
  ck_assert(state_append(&buffer, huge.bytes, FX_STATE_MAX_BYTES));
  ck_assert(!state_append(&buffer, "", 1));
  ck_assert(state_append(&buffer, "", 0));
  ck_assert(!state_append(&buffer, "", SIZE_MAX));
  ck_assert_uint_eq(buffer.n, FX_STATE_MAX_BYTES);
  free(buffer.bytes);
  free((void*)huge.bytes);
}

// ---- files ----

static void
make_files(const Scratch* const folder)
{
  TextBuffer file = file_of(parts, 3);
  scratch_write(folder, "good", file.bytes, file.n);
  free(file.bytes);
  ck_assert_int_eq(mkfifo(scratch_path(folder, "fifo"), 0600), 0);
  ck_assert_int_eq(mkdir(scratch_path(folder, "folder"), 0700), 0);
  ck_assert_int_eq(symlink("good", scratch_path(folder, "link")), 0);
  scratch_write(folder, "large", "", 0);
  ck_assert_int_eq(truncate(scratch_path(folder, "large"), 1 << 30), 0);
}

static const struct {
  const char* name;
  Status status;
  const char* says;
} files[] = {
  { "good", STATUS_OK, "" },
  { "fifo", STATUS_FILE, "fifo: not a regular file" },
  { "folder", STATUS_FILE, "folder: not a regular file" },
  { "link", STATUS_FILE, "link: " },
  { "large", STATUS_LIMIT, "large: 1073741824 bytes; a state has at most 16 MiB" },
  { "nowhere", STATUS_FILE, "nowhere: No such file or directory" },
};

TEST_ROWS(only_a_regular_file_of_limited_size_is_read, files)
{
  StateFile file = { 0 };
  Error error = { STATUS_OK, "" };
  const char* const name = files[row].name;
  SCOPED(scratch_remove) Scratch folder = scratch_new();
  make_files(&folder);
  ck_assert_int_eq(state_file_read(&origin, scratch_path(&folder, name), name, &file, &error),
                   files[row].status);
  assert_says(error.text, files[row].says);
  ck_assert_uint_eq(file.n_parts, files[row].status ? 0 : 3);
  state_file_clear(&file);
  ck_assert_int_eq(rmdir(scratch_path(&folder, "folder")), 0);
}

SUITE_MAIN("state_file")
