// SPDX-License-Identifier: GPL-3.0-or-later
// A RACK on a command line is a chain or a file.  An invalid one is refused with the position of
// the error.  The files that it names may be anywhere; later edits may only load files below its
// root.

#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tools/rack_arg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Error error;
static RackArg arg;

static void
assert_refused(const char* const word, const int exit_code, const char* const said)
{
  ck_assert_int_eq(status_exit_code(rack_arg_read(word, rack_parse, &arg, &error)), exit_code);
  assert_says(error.text, said);
  ck_assert_ptr_null(arg.rack);
  ck_assert_ptr_null(arg.root);
}

TEST(a_chain_is_read_and_its_files_are_here)
{
  ck_assert_msg(!rack_arg_read("a: gain -6dB | gain 3", rack_parse, &arg, &error), "%s",
                error.text);
  ck_assert(!arg.is_file);
  ck_assert_uint_eq(arg.rack->n_nodes, 2);
  ck_assert_str_eq(arg.root, ".");
  rack_arg_clear(&arg);
}

TEST(an_empty_argument_is_the_empty_rack)
{
  ck_assert_msg(!rack_arg_read("", rack_parse, &arg, &error), "%s", error.text);
  ck_assert_uint_eq(arg.rack->n_nodes, 0);
  ck_assert_uint_eq(arg.rack->n_edges, 1);
  rack_arg_clear(&arg);
}

TEST(a_file_is_read_and_its_files_are_beside_it)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "one.rack", "chain gain -6dB\n", 16);
  const char* const path = scratch_path(&scratch, "one.rack");
  ck_assert_msg(!rack_arg_read(path, rack_parse, &arg, &error), "%s", error.text);
  ck_assert(arg.is_file);
  ck_assert_uint_eq(arg.rack->n_nodes, 1);
  ck_assert(!strncmp(path, arg.root, strlen(arg.root)));
  ck_assert_str_eq(path + strlen(arg.root), "/one.rack");
  rack_arg_clear(&arg);
}

TEST(an_existing_file_needs_no_ending)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "rack without ending", "chain gain\n", 11);
  const char* const path = scratch_path(&scratch, "rack without ending");
  ck_assert_msg(!rack_arg_read(path, rack_parse, &arg, &error), "%s", error.text);
  ck_assert(arg.is_file);
  rack_arg_clear(&arg);
}

TEST(mistakes_are_reported_with_their_place)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "wrong.rack", "# one\nchain gian\n", 17);
  const char* const path = scratch_path(&scratch, "wrong.rack");
  char place[256];
  snprintf(place, sizeof(place), "%s:2:7: ", path);
  assert_refused(path, 2, place);
  assert_refused("gian", 2, "rack:1:1: ");
  assert_refused("gian", 2, "gain");
}

TEST(files_that_cannot_be_read_are_refused)
{
  assert_refused("no/such.rack", 5, "no/such.rack: cannot be opened: No such file");
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "binary.rack", "gain\0gain", 9);
  const char* const path = scratch_path(&scratch, "binary.rack");
  assert_refused(path, 5, "not a text file");
  assert_refused(scratch.directory, 5, "a folder; a RACK is a file or a chain in quotes");
  assert_refused("no/such.wav", 5, "no/such.wav: no such file");
}

/// Make a folder with a rack file, audio files, and links that lead out of the folder.
static Scratch
make_folder(void)
{
  static const float sample[] = { 1.0F };
  const float* const samples[] = { sample };
  const Scratch scratch = scratch_new();
  ck_assert_int_eq(mkdir(scratch_path(&scratch, "racks"), 0700), 0);
  ck_assert_int_eq(mkdir(scratch_path(&scratch, "racks/sub"), 0700), 0);
  scratch_write(&scratch, "racks/one.rack", "chain convolver ../named.wav\n", 29);
  scratch_write_wav(&scratch, "named.wav", samples, 1, 1, 48000);
  scratch_write_wav(&scratch, "unnamed.wav", samples, 1, 1, 48000);
  scratch_write_wav(&scratch, "racks/in.wav", samples, 1, 1, 48000);
  scratch_write_wav(&scratch, "racks/sub/in.wav", samples, 1, 1, 48000);
  ck_assert_int_eq(symlink("sub/in.wav", scratch_path(&scratch, "racks/link_in.wav")), 0);
  ck_assert_int_eq(symlink("../unnamed.wav", scratch_path(&scratch, "racks/link_out.wav")), 0);
  ck_assert_int_eq(symlink("..", scratch_path(&scratch, "racks/up")), 0);
  ck_assert_int_eq(symlink("/dev/zero", scratch_path(&scratch, "racks/zero.wav")), 0);
  ck_assert_int_eq(mkfifo(scratch_path(&scratch, "racks/pipe.wav"), 0600), 0);
  scratch_write(&scratch, "racks/empty.wav", "", 0);
  return scratch;
}

static void
assert_loads(const char* const name)
{
  const FxFiles files = rack_arg_files(&arg);
  FxFile* file = NULL;
  ck_assert_msg(!files.load(files.context, name, 48000.0, &file, &error), "%s: %s", name,
                error.text);
  ck_assert_uint_eq(file->n_frames, 1);
  files.free(files.context, file);
  SCOPED_MEMORY char* path = NULL;
  ck_assert_msg(!files.find(files.context, name, &path, &error), "%s: %s", name, error.text);
  ck_assert_msg(path[0] == '/' && !strstr(path, "..") && !strstr(path, "link"), "%s", path);
  ck_assert_int_eq(access(path, R_OK), 0);
}

static void
assert_finds_not(const char* const name)
{
  const FxFiles files = rack_arg_files(&arg);
  char* path = NULL;
  ck_assert_msg(files.find(files.context, name, &path, &error) == STATUS_FILE, "%s", name);
  ck_assert_ptr_null(path);
  ck_assert_uint_gt(strlen(error.text), 0);
}

static void
assert_loads_not(const char* const name)
{
  const FxFiles files = rack_arg_files(&arg);
  FxFile* file = NULL;
  ck_assert_msg(files.load(files.context, name, 48000.0, &file, &error) == STATUS_FILE, "%s", name);
  ck_assert_ptr_null(file);
  ck_assert_uint_gt(strlen(error.text), 0);
}

TEST(files_that_the_rack_does_not_name_are_loaded_from_below_the_root)
{
  SCOPED(scratch_remove) const Scratch scratch = make_folder();
  ck_assert_msg(!rack_arg_read(scratch_path(&scratch, "racks/one.rack"), rack_parse, &arg, &error),
                "%s", error.text);
  assert_loads("../named.wav"); // the rack of the command line names it
  assert_loads("in.wav");
  assert_loads("sub/in.wav");
  assert_loads("sub/../in.wav");
  assert_loads("link_in.wav");
  static const char* const bad[] = { "../unnamed.wav",
                                     "sub/../../unnamed.wav",
                                     "link_out.wav",
                                     "up/unnamed.wav",
                                     "/etc/passwd",
                                     "/dev/zero",
                                     "zero.wav",
                                     "pipe.wav",
                                     "sub",
                                     ".",
                                     "empty.wav",
                                     "none.wav",
                                     "",
                                     "../racks/../named.wav",
                                     "/proc/self/fd/0",
                                     "named.wav" };
  for (uint32_t i = 0; i < ARRAY_LEN(bad); ++i) {
    assert_loads_not(bad[i]);
    if (strcmp(bad[i], "empty.wav") != 0) { // a file without samples
      assert_finds_not(bad[i]);
    }
  }
  assert_loads_not(scratch_path(&scratch, "racks/in.wav")); // below the root, but absolute
  rack_arg_clear(&arg);
}

/// Enlarge a file with a hole, which takes no space on the disk.
static void
stretch(const Scratch* const scratch, const char* const name, const off_t n_bytes)
{
  ck_assert_int_eq(truncate(scratch_path(scratch, name), n_bytes), 0);
}

TEST(files_that_are_too_large_are_refused_before_they_are_read)
{
  // A WAV file with 8 bits, one channel, and one frame more than 1 GiB of floats can hold.
  static const char wav[] = "RIFF\x25\0\0\x10WAVEfmt \x10\0\0\0\1\0\1\0\x80\xBB\0\0\x80\xBB\0\0"
                            "\1\0\x08\0data\1\0\0\x10";
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "long.wav", wav, sizeof(wav) - 1U);
  stretch(&scratch, "long.wav", 44 + 0x10000001);
  scratch_write(&scratch, "long.txt", "1 2 3\n", 6);
  stretch(&scratch, "long.txt", (64L << 20U) + 1);
  ck_assert_int_eq(rack_arg_read("gain", rack_parse, &arg, &error), STATUS_OK);
  ck_assert_int_eq(rack_arg_set_root(&arg, scratch.directory, &error), STATUS_OK);
  assert_loads_not("long.wav");
  assert_says(error.text, "over 1 GiB of samples");
  assert_loads_not("long.txt");
  assert_says(error.text, "over 64 MiB of text");
  rack_arg_clear(&arg);
}

TEST(another_root_can_be_given)
{
  SCOPED(scratch_remove) const Scratch scratch = make_folder();
  char path[256];
  snprintf(path, sizeof(path), "%s", scratch_path(&scratch, "racks/one.rack"));
  ck_assert_int_eq(rack_arg_read(path, rack_parse, &arg, &error), STATUS_OK);
  char* name = rack_arg_name(&arg, path);
  ck_assert_str_eq(name, "one.rack");
  free(name);

  ck_assert_int_eq(rack_arg_set_root(&arg, scratch.directory, &error), STATUS_OK);
  assert_loads("unnamed.wav");
  assert_loads("racks/in.wav");
  assert_loads_not("in.wav");
  name = rack_arg_name(&arg, path);
  ck_assert_str_eq(name, "racks/one.rack");
  free(name);

  ck_assert_int_eq(rack_arg_set_root(&arg, scratch_path(&scratch, "racks/sub"), &error), STATUS_OK);
  ck_assert_ptr_null(rack_arg_name(&arg, path)); // the rack file is not below the root
  ck_assert_int_eq(rack_arg_set_root(&arg, path, &error), STATUS_FILE);
  ck_assert_int_eq(rack_arg_set_root(&arg, "no/such/folder", &error), STATUS_FILE);
  rack_arg_clear(&arg);
  ck_assert_int_eq(rack_arg_read("gain", rack_parse, &arg, &error), STATUS_OK);
  ck_assert_ptr_null(rack_arg_name(&arg, "gain")); // a chain, not a file
  rack_arg_clear(&arg);
}

TEST(a_link_that_changes_later_does_not_change_the_root)
{
  SCOPED(scratch_remove) const Scratch scratch = make_folder();
  char link[256];
  snprintf(link, sizeof(link), "%s", scratch_path(&scratch, "link"));
  ck_assert_int_eq(symlink(scratch_path(&scratch, "racks"), link), 0);
  ck_assert_int_eq(rack_arg_read("gain", rack_parse, &arg, &error), STATUS_OK);
  ck_assert_int_eq(rack_arg_set_root(&arg, link, &error), STATUS_OK);
  rack_arg_hold_root(&arg);
  assert_loads("in.wav");
  unlink(link);
  ck_assert_int_eq(symlink(scratch.directory, link), 0);
  assert_loads("in.wav");
  assert_loads_not("unnamed.wav");
  rack_arg_clear(&arg);
}

SUITE_MAIN("rack argument")
