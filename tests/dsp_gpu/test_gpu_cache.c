// SPDX-License-Identifier: GPL-3.0-or-later
// Data is loaded only under the key with which it was stored; a damaged file counts as missing and
// is removed; an unusable folder is no error.

#include "dsp_gpu/gpu_cache.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* const key[] = { "opencl", "driver 1", "-DN=64", "kernel source", NULL };
static const char module[] = "compiled\0module\n";

static Scratch home;
static Scratch folder; // the folder of the cache, inside `home`

static void
begin(void)
{
  home = scratch_new();
  setenv("XDG_CACHE_HOME", home.directory, 1);
  snprintf(folder.directory, sizeof(folder.directory), "%.100s/warprack", home.directory);
}

static void
end(void)
{
  if (!access(folder.directory, F_OK)) {
    scratch_remove(&folder);
  }
  scratch_remove(&home);
}

static void
store_module(void)
{
  ck_assert(gpu_cache_store(key, module, sizeof(module)));
  ck_assert_uint_eq(scratch_count(&folder), 1);
}

static bool
is_module_there(void)
{
  void* bytes = NULL;
  size_t n_bytes = 0;
  if (!gpu_cache_load(key, &bytes, &n_bytes)) {
    ck_assert_ptr_null(bytes);
    return false;
  }
  ck_assert_uint_eq(n_bytes, sizeof(module));
  ck_assert_mem_eq(bytes, module, sizeof(module));
  free(bytes);
  return true;
}

// The path of the only file of the cache.
static const char*
only_path(void)
{
  static char path[256];
  char command[512];
  snprintf(command, sizeof(command), "echo %s/*", folder.directory);
  FILE* const pipe = popen(command, "r");
  ck_assert(pipe && fgets(path, sizeof(path), pipe));
  pclose(pipe);
  path[strcspn(path, "\n")] = '\0';
  return path;
}

static size_t
read_only_file(char* const bytes, const size_t max_bytes)
{
  FILE* const file = fopen(only_path(), "rb");
  ck_assert_ptr_nonnull(file);
  const size_t n_bytes = fread(bytes, 1, max_bytes, file);
  fclose(file);
  return n_bytes;
}

static void
write_bytes(const char* const path, const char* const bytes, const size_t n_bytes)
{
  FILE* const file = fopen(path, "wb");
  ck_assert(file && fwrite(bytes, 1, n_bytes, file) == n_bytes && !fclose(file));
}

TEST(a_stored_module_is_loaded)
{
  begin();
  ck_assert(!is_module_there());
  store_module();
  ck_assert(is_module_there());
  ck_assert(is_module_there());
  end();
}

TEST(the_module_stored_last_is_loaded)
{
  begin();
  ck_assert(gpu_cache_store(key, "old", 3));
  store_module();
  ck_assert(is_module_there());
  end();
}

TEST(every_word_of_the_key_and_its_end_count)
{
  static const char* const others[][5] = {
    { "cuda", "driver 1", "-DN=64", "kernel source" },
    { "opencl", "driver 2", "-DN=64", "kernel source" },
    { "opencl", "driver 1", "-DN=65", "kernel source" },
    { "opencl", "driver 1", "-DN=64", "kernel source " },
    { "opencl", "driver 1-DN=64", "", "kernel source" },
    { "opencl", "driver 1", "-DN=64" },
  };
  begin();
  store_module();
  for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
    void* bytes;
    size_t n_bytes;
    ck_assert_msg(!gpu_cache_load(others[i], &bytes, &n_bytes), "key %u", i);
  }
  end();
}

TEST(a_key_with_the_same_hash_is_a_miss)
{
  static const char* const other[] = { "opencl", "another", NULL };
  begin();
  store_module();
  char path[256];
  snprintf(path, sizeof(path), "%s", only_path());
  ck_assert_int_eq(rename(path, scratch_path(&home, "aside")), 0);
  ck_assert(gpu_cache_store(other, "other", 5));
  ck_assert_int_eq(rename(only_path(), path), 0);

  ck_assert(!is_module_there());
  store_module();
  ck_assert(is_module_there());
  end();
}

TEST(any_changed_byte_is_a_miss_and_deletes_the_file)
{
  char bytes[512];
  begin();
  store_module();
  const size_t n_bytes = read_only_file(bytes, sizeof(bytes));
  ck_assert_uint_gt(n_bytes, sizeof(module));
  char path[256];
  snprintf(path, sizeof(path), "%s", only_path());
  for (size_t i = 0; i < n_bytes; ++i) {
    bytes[i] ^= 4;
    write_bytes(path, bytes, n_bytes);
    ck_assert_msg(!is_module_there(), "byte %zu of %zu", i, n_bytes);
    ck_assert_uint_eq(scratch_count(&folder), 0);
    bytes[i] ^= 4;
  }
  write_bytes(path, bytes, n_bytes);
  ck_assert(is_module_there());
  end();
}

TEST(any_other_length_is_a_miss_and_deletes_the_file)
{
  char bytes[512] = { 0 };
  begin();
  store_module();
  const size_t n_bytes = read_only_file(bytes, sizeof(bytes));
  char path[256];
  snprintf(path, sizeof(path), "%s", only_path());
  for (size_t length = 0; length <= n_bytes + 2U; ++length) {
    write_bytes(path, bytes, length);
    ck_assert_msg(is_module_there() == (length == n_bytes), "%zu of %zu bytes", length, n_bytes);
    ck_assert_uint_eq(scratch_count(&folder), length == n_bytes ? 1 : 0);
  }
  end();
}

TEST(a_forgotten_module_is_gone)
{
  begin();
  store_module();
  gpu_cache_forget(key);
  ck_assert_uint_eq(scratch_count(&folder), 0);
  gpu_cache_forget(key);
  ck_assert(!is_module_there());
  end();
}

TEST(the_folder_may_be_deleted_at_any_time)
{
  begin();
  store_module();
  scratch_remove(&folder);
  ck_assert(!is_module_there());
  store_module();
  ck_assert(is_module_there());
  end();
}

TEST(a_folder_that_cannot_be_made_is_no_error)
{
  begin();
  // Root ignores permissions, but not a file in place of a folder.
  scratch_write(&home, "file", "", 0);
  ck_assert(gpu_cache_has_folder());
  setenv("XDG_CACHE_HOME", scratch_path(&home, "file"), 1);
  ck_assert(!gpu_cache_has_folder());
  ck_assert(!gpu_cache_store(key, module, sizeof(module)));
  ck_assert(!is_module_there());
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  ck_assert(!gpu_cache_has_folder());
  ck_assert(!gpu_cache_store(key, module, sizeof(module)));
  ck_assert(!is_module_there());
  end();
}

TEST(without_a_cache_home_it_is_beneath_the_home)
{
  static const char* const relative_or_none[] = { "relative", "", NULL };
  begin();
  setenv("HOME", home.directory, 1);
  snprintf(folder.directory, sizeof(folder.directory), "%.80s/.cache/warprack", home.directory);
  for (unsigned i = 0; i < 3; ++i) {
    if (relative_or_none[i]) {
      setenv("XDG_CACHE_HOME", relative_or_none[i], 1);
    } else {
      unsetenv("XDG_CACHE_HOME");
    }
    store_module();
    scratch_remove(&folder);
  }
  ck_assert_int_eq(rmdir(scratch_path(&home, ".cache")), 0);
  end();
}

TEST(readers_never_see_half_of_what_writers_write)
{
  begin();
  store_module();
  pid_t writers[2];
  for (unsigned w = 0; w < 2; ++w) {
    writers[w] = fork();
    ck_assert_int_ge(writers[w], 0);
    for (unsigned i = 0; i < 100 && !writers[w]; ++i) {
      if (!gpu_cache_store(key, module, sizeof(module))) {
        _exit(1);
      }
    }
    if (!writers[w]) {
      _exit(0);
    }
  }
  unsigned n_running = 2;
  while (n_running) {
    ck_assert(is_module_there());
    int status = 0;
    if (waitpid(-1, &status, WNOHANG) > 0) {
      ck_assert_int_eq(status, 0);
      --n_running;
    }
  }
  ck_assert_uint_eq(scratch_count(&folder), 1);
  end();
}

SUITE_MAIN("gpu_cache")
