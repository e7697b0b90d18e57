// SPDX-License-Identifier: GPL-3.0-or-later
// A project begins with the RACK of the command line, whose files are copied into its folder under
// free names.  A document that exists is read instead.  What cannot be a project is refused with
// the code for the session manager.

#include "control/folder.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tools/project.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Scratch scratch;
static Project project;
static NsmCode code;
static Error why;
static char notes[4096];

static void
on_note(void* const context, const char* const text)
{
  (void)context;
  strncat(notes, text, sizeof(notes) - strlen(notes) - 1U);
  strncat(notes, "\n", sizeof(notes) - strlen(notes) - 1U);
}

static void
write_text(const char* const name, const char* const text)
{
  scratch_write(&scratch, name, text, strlen(text));
}

static void
make_folder(const char* const name)
{
  ck_assert_int_eq(mkdir(scratch_path(&scratch, name), 0777), 0);
}

/// Open the project in the folder `name`.
static Status
open_project(const char* const name, const char* const given)
{
  NsmProject at = { .display = "a session", .client = "warprack.nABC" };
  snprintf(at.path, sizeof(at.path), "%s", scratch_path(&scratch, name));
  notes[0] = '\0';
  return project_open(&at, given, 0, on_note, NULL, &project, &code, &why);
}

static void
open_good(const char* const name, const char* const given)
{
  ck_assert_msg(!open_project(name, given), "%s", why.text);
}

/// Check the text of the project's rack, and its files, as "NAME CONTENT\n".
static void
assert_has(const char* const part, const char* const file, const char* const content)
{
  SCOPED_MEMORY char* const text = rack_print(project.rack.rack);
  assert_says(text, part);
  char path[PATH_MAX];
  SCOPED_MEMORY char* found = NULL;
  snprintf(path, sizeof(path), "%.4000s/%s", project.at.path, file);
  OK(rack_arg_read_text(path, &found, &error));
  ck_assert_str_eq(found, content);
}

TEST(a_new_project_has_the_given_rack_and_its_files)
{
  scratch = scratch_new();
  make_folder("racks");
  make_folder("racks/deep");
  make_folder("other");
  write_text("racks/ir.txt", "1 2\n");
  write_text("racks/deep/ir.txt", "3 4\n");
  write_text("other/ir.txt", "1 2\n"); // the same content
  SCOPED_MEMORY char* rack = NULL;
  ck_assert_int_gt(
      asprintf(&rack,
               "add a fir file=ir.txt\nadd b fir file=deep/ir.txt\nadd c fir file=%s/other/ir.txt\n"
               "add d fir file=ir.txt\n",
               scratch.directory),
      0);
  write_text("racks/own.rack", rack);
  open_good("project", scratch_path(&scratch, "racks/own.rack"));
  ck_assert_ptr_null(project.saved);
  ck_assert_str_eq(project.rack.root, project.at.path);
  assert_has("add a fir file=ir.txt\nadd b fir file=ir-2.txt\nadd c fir file=ir.txt\n"
             "add d fir file=ir.txt\n",
             "ir.txt", "1 2\n");
  assert_has("", "ir-2.txt", "3 4\n");
  assert_says(notes, "/racks/deep/ir.txt is in the session now, as ir-2.txt\n");
  project_clear(&project);
}

TEST(a_document_is_read_and_its_own_files_stay)
{
  scratch = scratch_new();
  make_folder("project");
  make_folder("project/deep");
  write_text("project/deep/own.txt", "1\n");
  write_text("outside.txt", "2\n");
  write_text("project/main.rack", "add a fir file=deep/own.txt\nadd b fir file=../outside.txt\n");
  open_good("project", "no such effect");
  assert_says(project.saved, "add a fir file=deep/own.txt\nadd b fir file=../outside.txt\n");
  assert_has("add a fir file=deep/own.txt\nadd b fir file=outside.txt\n", "outside.txt", "2\n");
  project_clear(&project);
}

TEST(a_rack_that_is_not_one_is_refused)
{
  scratch = scratch_new();
  ck_assert_int_eq(open_project("project", "nonsense"), STATUS_NOT_FOUND);
  ck_assert_int_eq(code, NSM_CREATE_FAILED);
  ck_assert_int_eq(open_project("project", "fir file=none.txt"), STATUS_FILE);
  ck_assert_int_eq(code, NSM_CREATE_FAILED);
  assert_says(why.text, "none.txt: No such file");
  write_text("project/main.rack", "chain nonsense\n");
  ck_assert_int_eq(open_project("project", ""), STATUS_NOT_FOUND);
  ck_assert_int_eq(code, NSM_BAD_PROJECT);
  assert_says(why.text, "main.rack:1:");
  ck_assert_ptr_null(project.rack.rack);
  unlink(scratch_path(&scratch, "project/main.rack"));
  ck_assert_int_eq(mkfifo(scratch_path(&scratch, "project/main.rack"), 0666), 0);
  ck_assert_int_eq(open_project("project", ""), STATUS_FILE); // and does not wait for a writer
  ck_assert_int_eq(code, NSM_BAD_PROJECT);
  assert_says(why.text, "main.rack: not a regular file");
  SCOPED_MEMORY char* text = NULL;
  ck_assert_int_eq(project_read_document(&project.at, &text, &why), STATUS_FILE); // likewise
  write_text("file", "");
  ck_assert_int_eq(open_project("file", ""), STATUS_FILE);
  ck_assert_int_eq(code, NSM_CREATE_FAILED);
}

TEST(a_full_folder_is_refused)
{
  scratch = scratch_new();
  make_folder("project");
  write_text("ir.txt", "1\n");
  for (unsigned n = 1; n < 120U; ++n) {
    char name[64];
    snprintf(name, sizeof(name), n > 1U ? "project/ir-%u.txt" : "project/ir.txt", n);
    write_text(name, "another\n");
  }
  SCOPED_MEMORY char* rack = NULL;
  ck_assert_int_gt(asprintf(&rack, "fir file=%s/ir.txt", scratch.directory), 0);
  ck_assert_int_eq(open_project("project", rack), STATUS_FILE);
  assert_says(why.text, "ir.txt: File exists");
}

/// One byte more than the largest that is copied, without room on the disk.
TEST(a_huge_file_is_not_copied)
{
  scratch = scratch_new();
  write_text("huge.txt", "");
  ck_assert_int_eq(truncate(scratch_path(&scratch, "huge.txt"), FOLDER_COPY_MAX + 1LL), 0);
  SCOPED_MEMORY char* rack = NULL;
  ck_assert_int_gt(asprintf(&rack, "fir file=%s/huge.txt", scratch.directory), 0);
  ck_assert_int_eq(open_project("project", rack), STATUS_FILE);
  assert_says(why.text, "huge.txt: File too large");
}

TEST(a_project_is_opened_again_as_it_played)
{
  scratch = scratch_new();
  make_folder("project");
  NsmProject at = { .client = "warprack.nABC" };
  snprintf(at.path, sizeof(at.path), "%s", scratch_path(&scratch, "project"));
  OK(project_reopen(&at, "add a gain gain=-3dB\n", NULL, &project, &error));
  ck_assert_uint_eq(project.rack.rack->n_nodes, 1);
  ck_assert_ptr_null(project.saved);
  project_clear(&project);
  ck_assert_int_eq(project_reopen(&at, "nonsense", "saved", &project, &why), STATUS_NOT_FOUND);
}

static int
remove_entry(const char* const path, const struct stat* const facts, const int kind,
             struct FTW* const place)
{
  (void)facts;
  (void)kind;
  (void)place;
  return remove(path);
}

static void
tear_down(void)
{
  nftw(scratch.directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

SUITE_MAIN_WITH("project", NULL, tear_down)
