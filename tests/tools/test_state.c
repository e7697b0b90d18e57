// SPDX-License-Identifier: GPL-3.0-or-later
// The state folder keeps the last rack that played long enough, the last good rack, and the number
// of starts that failed.  A full disk is reported and the save is repeated; damaged files are
// ignored.

#include "control/folder.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tools/first_rack.h"
#include "tools/state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define S           UINT64_C(1000000000)
#define PATIENCE_MS 10000U

static Scratch scratch;
static State* state;
static char said[1024];
static unsigned n_said;
static unsigned n_unread;

static void
on_failed(void* const context, const StateTrouble trouble, const char* const text)
{
  (void)context;
  n_unread += trouble == STATE_UNREAD;
  snprintf(said, sizeof(said), "%s", text);
  ++n_said;
}

static void
make_scratch(void)
{
  if (!scratch.directory[0]) {
    scratch = scratch_new();
  }
}

static void
open_state(void)
{
  make_scratch();
  OK(state_open(scratch_path(&scratch, "state"), on_failed, NULL, &state, &error));
}

/// Close the state without the saves of a normal end, as if the program had been killed.
static void
drop_state(void)
{
  ck_assert(state_close(state, false, PATIENCE_MS));
}

static void
end(void)
{
  drop_state();
  scratch_remove(&scratch);
}

/// Report that a rack plays from one second to another.
static void
play(const char* const text, const uint64_t from_s, const uint64_t to_s)
{
  state_offer(state, strdup(text), from_s * S);
  state_step(state, to_s * S);
}

/// The contents of a state file at the next start; NULL if there is none.  Opens the state again.
static const char*
kept(const StateFile file)
{
  static char text[256];
  drop_state();
  open_state();
  const char* const found = state_text(state, file);
  snprintf(text, sizeof(text), "%s", found ? found : "");
  return found ? text : NULL;
}

TEST(a_rack_is_saved_once_it_has_played_long_enough)
{
  open_state();
  ck_assert_ptr_null(state_text(state, STATE_PRESENT));
  state_set_origin(state, 7);
  play("one\n", 100, 100);
  state_step(state, 104U * S);
  ck_assert_uint_eq(state_counts(state).saved, 0);
  state_step(state, 105U * S);
  ck_assert_uint_eq(state_counts(state).saved, 1);
  ck_assert_str_eq(kept(STATE_PRESENT), "one\n");
  ck_assert_uint_eq(state_text_origin(state), 7);
  ck_assert_ptr_null(state_text(state, STATE_GOOD));
  end();
}

TEST(subscribers_are_kept_at_once_and_at_the_end)
{
  open_state();
  ck_assert_ptr_null(state_subscribers(state));
  state_offer_subscribers(state, strdup("127.0.0.1 7\n"));
  state_offer_subscribers(state, strdup("127.0.0.1 8\n"));
  state_step(state, 100U * S);
  drop_state();
  open_state();
  ck_assert_str_eq(state_subscribers(state), "127.0.0.1 8\n");
  state_offer_subscribers(state, strdup(""));
  ck_assert(state_close(state, true, PATIENCE_MS));
  open_state();
  ck_assert_str_eq(state_subscribers(state), "");
  ck_assert_uint_eq(state_counts(state).saved, 0); // counts racks only
  end();
}

TEST(a_rack_that_played_just_before_a_crash_is_not_kept)
{
  open_state();
  play("one\n", 100, 105);
  play("crash\n", 106, 110);
  ck_assert_str_eq(kept(STATE_PRESENT), "one\n");
  end();
}

TEST(a_rack_that_lost_a_worker_must_play_again_before_it_is_saved)
{
  open_state();
  state_offer(state, strdup("one\n"), 100U * S);
  state_shake(state, 104U * S);
  state_step(state, 118U * S);
  ck_assert_uint_eq(state_counts(state).saved, 0);
  state_step(state, 119U * S);
  ck_assert_str_eq(kept(STATE_PRESENT), "one\n");
  end();
}

TEST(a_rack_that_changes_all_the_time_is_kept_as_it_was_five_seconds_ago)
{
  open_state();
  for (uint64_t s = 100; s < 131; ++s) {
    char text[32];
    snprintf(text, sizeof(text), "at %u\n", (unsigned)s);
    state_offer(state, strdup(text), s * S);
    state_step(state, s * S);
  }
  ck_assert_uint_ge(state_counts(state).saved, 4);
  unsigned at = 0;
  ck_assert_int_eq(sscanf(kept(STATE_PRESENT), "at %u", &at), 1);
  ck_assert_uint_ge(at, 120);
  ck_assert_uint_le(at, 125);
  end();
}

TEST(the_same_rack_is_not_written_twice)
{
  open_state();
  play("one\n", 100, 105);
  play("one\n", 106, 111);
  ck_assert_uint_eq(state_counts(state).saved, 1);
  end();
}

TEST(a_rack_that_has_lived_for_a_minute_is_a_good_one)
{
  open_state();
  play("one\n", 100, 105);
  play("two\n", 160, 164);
  ck_assert_ptr_null(kept(STATE_GOOD));
  play("one\n", 100, 105);
  play("two\n", 160, 165); // now "two" is the present rack, and "one" the good one
  ck_assert_str_eq(kept(STATE_GOOD), "one\n");
  ck_assert_str_eq(state_text(state, STATE_PRESENT), "two\n");
  end();
}

TEST(the_rack_after_a_good_one_becomes_good_a_minute_later)
{
  open_state();
  play("one\n", 100, 105);
  play("two\n", 160, 165);
  for (uint64_t s = 166; s <= 240; ++s) {
    state_step(state, s * S);
  }
  ck_assert_str_eq(kept(STATE_GOOD), "two\n");
  end();
}

TEST(early_crashes_are_counted)
{
  for (uint32_t n = 1; n <= 4; ++n) {
    open_state();
    ck_assert_uint_eq(state_starts(state), n);
    state_step(state, 100U * S);
    state_step(state, 119U * S);
    drop_state();
  }
  open_state();
  state_step(state, 100U * S);
  state_step(state, 120U * S); // 20 s after the start: it does not count as failed
  drop_state();
  open_state();
  ck_assert_uint_eq(state_starts(state), 1);
  end();
}

TEST(an_orderly_end_resets_the_starts_and_saves_the_newest_rack)
{
  open_state();
  drop_state();
  open_state();
  OK(state_run(state, &error));
  state_offer(state, strdup("one\n"), 100U * S);
  state_offer(state, strdup("two\n"), 100U * S);
  ck_assert(state_close(state, true, PATIENCE_MS));
  open_state();
  ck_assert_uint_eq(state_starts(state), 1);
  ck_assert_str_eq(state_text(state, STATE_PRESENT), "two\n");
  end();
}

TEST(damaged_files_are_ignored)
{
  open_state();
  drop_state();
  scratch_write(&scratch, "state/starts", "garbage\0\xff", 9);
  scratch_write(&scratch, "state/present.rack", "gain\0gain", 9);
  scratch_write(&scratch, "state/good.rack", "gain -6dB\n", 10); // written by hand: no first line
  open_state();
  ck_assert_uint_eq(state_starts(state), 1);
  ck_assert_ptr_null(state_text(state, STATE_PRESENT));
  ck_assert_str_eq(state_text(state, STATE_GOOD), "gain -6dB\n");
  ck_assert_uint_eq(state_text_origin(state), 0);
  drop_state();
  static const char cut_off[] = "# warprack state, begun with 0123456789abcdef";
  scratch_write(&scratch, "state/present.rack", cut_off, strlen(cut_off));
  open_state();
  ck_assert_uint_eq(state_text_origin(state), 0);
  end();
}

TEST(each_damaged_file_is_reported)
{
  static const char* const names[] = { "starts", "subscribers", "present.rack", "good.rack" };
  static const char* const whys[] = { "larger than", "not a text", "a link that leads to no usable",
                                      "not a regular file" };
  static char large[5U << 20U];
  memset(large, 'x', sizeof(large));
  for (uint32_t f = 0; f < 4U; ++f) {
    for (uint32_t k = 0; k < 4U; ++k) {
      make_scratch();
      mkdir(scratch_path(&scratch, "state"), 0777);
      char path[256];
      snprintf(path, sizeof(path), "state/%s", names[f]);
      if (k == 0U) {
        scratch_write(&scratch, path, large, sizeof(large));
      } else if (k == 1U) {
        scratch_write(&scratch, path, "\x7F\0\xFF\x01", 4);
      } else if (k == 2U) {
        ck_assert_int_eq(symlink("/etc/hostname", scratch_path(&scratch, path)), 0);
      } else {
        ck_assert_int_eq(mkdir(scratch_path(&scratch, path), 0777), 0);
      }
      n_unread = 0;
      open_state();
      ck_assert_msg(n_unread == 1U, "%s, %u: reported %u times", names[f], k, n_unread);
      ck_assert_msg(f == 0U || (strstr(said, names[f]) && strstr(said, whys[k])), "%s, %u: %s",
                    names[f], k, said);
      drop_state();
      if (k == 3U) {
        rmdir(scratch_path(&scratch, path));
      } else {
        unlink(scratch_path(&scratch, path));
      }
      unlink(scratch_path(&scratch, "state/starts"));
      rmdir(scratch_path(&scratch, "state"));
      scratch_remove(&scratch);
      scratch = (Scratch){ 0 };
    }
  }
  n_unread = 0;
  open_state(); // missing files are not reported
  ck_assert_uint_eq(n_unread, 0U);
  drop_state();
  scratch_write(&scratch, "state/starts", "3 or so", 7);
  scratch_write(&scratch, "state/subscribers", "127.0.0.1 8\n\x9B\xFE", 14);
  open_state();
  ck_assert_uint_eq(n_unread, 2U);
  assert_says(said, "subscribers: a line is not the address of a client");
  assert_says(state_subscribers(state), "127.0.0.1 8\n");
  ck_assert_uint_eq(state_starts(state), 1);
  static const char* const nonsense[] = {
    "hello world\n", "127.0.0.1 8\nhello\n", "127.0.0.1 8 or so\n", "192.0.2.1 8\n", "8\n",
  };
  for (uint32_t i = 0; i < ARRAY_LEN(nonsense); ++i) {
    drop_state();
    scratch_write(&scratch, "state/subscribers", nonsense[i], strlen(nonsense[i]));
    open_state();
    ck_assert_msg(n_unread == 3U + i, "%s", nonsense[i]);
  }
  static const char clients[] = "127.0.0.1 8\n::1 65535\n";
  drop_state();
  scratch_write(&scratch, "state/subscribers", clients, strlen(clients));
  open_state();
  ck_assert_msg(n_unread == 2U + ARRAY_LEN(nonsense), "%s", said);
  end();
}

TEST(a_saved_rack_with_a_damaged_first_line_is_reported)
{
  static const char* const texts[] = { "", "gain -6dB\n", "\x9B\xFE\x01\n\x80\n",
                                       "# warprack state, begun with 01" };
  static const char whole[] = "# warprack state, begun with 0123456789abcdef\ngain -6dB\n";
  open_state();
  for (uint32_t t = 0; t < ARRAY_LEN(texts); ++t) {
    drop_state();
    scratch_write(&scratch, "state/present.rack", texts[t], strlen(texts[t]));
    n_unread = 0;
    open_state();
    ck_assert_msg(n_unread == 1U && strstr(said, "present.rack: the first line is damaged"),
                  "text %u: reported %u times: %s", t, n_unread, said);
  }
  drop_state();
  scratch_write(&scratch, "state/present.rack", whole, strlen(whole));
  n_unread = 0;
  open_state();
  ck_assert_uint_eq(n_unread, 0);
  end();
}

TEST(temporary_files_of_a_killed_run_are_removed)
{
  open_state();
  drop_state();
  scratch_write(&scratch, "state/.warprack-1.tmp", "half", 4);
  open_state();
  ck_assert_int_ne(access(scratch_path(&scratch, "state/.warprack-1.tmp"), F_OK), 0);
  end();
}

TEST(a_folder_has_one_user)
{
  open_state();
  State* second = NULL;
  Error error;
  ck_assert_int_eq(state_open(scratch_path(&scratch, "state"), on_failed, NULL, &second, &error),
                   STATUS_EXISTS);
  end();
  ck_assert_int_eq(state_open(scratch_path(&scratch, "no/such"), on_failed, NULL, &second, &error),
                   STATUS_FILE);
}

TEST(an_origin_depends_on_the_text_and_is_never_0)
{
  ck_assert_uint_eq(state_origin("one"), state_origin("one"));
  ck_assert_uint_ne(state_origin("one"), state_origin("onf"));
  ck_assert_uint_ne(state_origin(""), 0);
}

/// Fill the file system of the state folder.
static void
fill(void)
{
  char page[4096] = { 0 };
  SCOPED_FD const int fd = open(scratch_path(&scratch, "state/filler"), O_WRONLY | O_CREAT, 0666);
  while (write(fd, page, sizeof(page)) > 0) {
  }
}

TEST(a_full_disk_is_reported_and_retried_and_leaves_the_old_rack)
{
  make_scratch();
  mkdir(scratch_path(&scratch, "state"), 0777);
  if (mount("tmpfs", scratch_path(&scratch, "state"), "tmpfs", 0, "size=64k")) {
    suite_skip("cannot mount a tmpfs");
    scratch_remove(&scratch);
    return;
  }
  open_state();
  play("one\n", 100, 105);
  ck_assert_uint_eq(state_counts(state).failed, 0);
  fill();
  n_said = 0;
  state_offer(state, strdup("two\n"), 110U * S);
  for (uint64_t s = 115; s <= 144; ++s) {
    state_step(state, s * S);
  }
  ck_assert_uint_eq(n_said, 3); // the save is repeated every ten seconds
  ck_assert_uint_eq(state_counts(state).failed, 3);
  assert_says(said, "No space left");
  ck_assert_str_eq(kept(STATE_PRESENT), "one\n");
  unlink(scratch_path(&scratch, "state/filler"));
  play("two\n", 200, 205);
  ck_assert_str_eq(kept(STATE_PRESENT), "two\n");
  drop_state();
  umount2(scratch_path(&scratch, "state"), MNT_DETACH);
  scratch_remove(&scratch);
}

/// Make a system call fail with `code`, from now on and for this process.
static void
forbid(const long call, const int code)
{
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)code),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = { 4, filter };
  ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/// Check the message when this system call fails with `code` while a file or folder is opened.
static void
assert_said(const long call, const int code, const char* const expected)
{
  make_scratch();
  scratch_write(&scratch, "file", "text", 4);
  Folder folder = { .fd = -1 };
  Error why = { STATUS_OK, "" };
  char* text = NULL;
  ck_assert_int_eq(folder_open(&folder, scratch.directory, &why), STATUS_OK);
  forbid(call, code);
  const Status status = call == SYS_openat2 ? folder_read(&folder, "file", &text, &why)
                                            : folder_open(&folder, scratch.directory, &why);
  ck_assert_int_eq(status, STATUS_FILE);
  assert_says(why.text, expected);
}

TEST(a_system_without_openat2_is_named)
{
  assert_said(SYS_openat2, ENOSYS, "this system lacks openat2");
}

TEST(a_sandbox_without_openat2_is_named)
{
  assert_said(SYS_openat2, EPERM, "this system lacks openat2");
}

TEST(other_permission_errors_are_reported_unchanged)
{
  assert_said(SYS_openat, EPERM, "Operation not permitted");
}

TEST(files_of_the_folder_are_replaced_as_a_whole)
{
  make_scratch();
  Folder folder;
  OK(folder_open(&folder, scratch_path(&scratch, "."), &error));
  OK(folder_replace(&folder, "name", "one", &error));
  OK(folder_replace(&folder, "name", "two", &error));
  char* text = NULL;
  OK(folder_read(&folder, "name", &text, &error));
  ck_assert_str_eq(text, "two");
  free(text);
  ck_assert_uint_eq(scratch_count(&scratch), 1);
  folder_close(&folder);
  scratch_remove(&scratch);
}

TEST(a_rack_that_was_saved_without_missing_plugins_starts_so)
{
  static const char text[] = "add a lv2 \"urn:test:none\" x=1\n";
  const uint32_t refuse = 0;
  Rack* rack = NULL;
  Error why;
  make_scratch();
  setenv("XDG_CACHE_HOME", scratch.directory, 1); // no plugins
  ck_assert_int_eq(first_rack_parse(text, "t", refuse, &rack, &why), STATUS_NOT_FOUND);
  OK(rack_parse_bypass(text, "t", NULL, &rack, &error));
  SCOPED_MEMORY char* const marked = first_rack_mark(rack, strdup(text));
  rack_free(rack);
  OK(first_rack_parse(marked, "t", refuse, &rack, &error));
  SCOPED_MEMORY char* const again = rack_print(rack);
  ck_assert_str_eq(again, text);
  rack_free(rack);
  OK(first_rack_parse("gain", "t", refuse, &rack, &error));
  SCOPED_MEMORY char* const plain = first_rack_mark(rack, strdup("gain"));
  ck_assert_str_eq(plain, "gain");
  rack_free(rack);
  scratch_remove(&scratch);
}

TEST(old_temporary_files_of_the_folder_are_removed)
{
  static const char* const names[] = { ".warprack-42.tmp", "warprack-42.tmp", ".warprack-42.rack" };
  make_scratch();
  for (uint32_t n = 0; n < ARRAY_LEN(names); ++n) {
    scratch_write(&scratch, names[n], "x", 1);
  }
  SCOPED(folder_close) Folder folder;
  OK(folder_open(&folder, scratch_path(&scratch, "."), &error));
  folder_remove_leftovers(&folder, 600);
  ck_assert_uint_eq(scratch_count(&scratch), 3); // another process may be writing it
  folder_remove_leftovers(&folder, 0);
  ck_assert_uint_eq(scratch_count(&scratch), 2);
  ck_assert_int_ne(access(scratch_path(&scratch, names[0]), F_OK), 0);
  scratch_write(&scratch, names[0], "x", 1); // by a clock that was ahead
  const struct timespec later[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = time(NULL) + 1000000 } };
  ck_assert_int_eq(utimensat(AT_FDCWD, scratch_path(&scratch, names[0]), later, 0), 0);
  folder_remove_leftovers(&folder, 600);
  ck_assert_uint_eq(scratch_count(&scratch), 3);
  folder_remove_leftovers(&folder, 0);
  ck_assert_uint_eq(scratch_count(&scratch), 2);
  scratch_remove(&scratch);
}

TEST(files_of_the_folder_cannot_be_written_by_others)
{
  struct stat facts;
  make_scratch();
  SCOPED(folder_close) Folder folder;
  OK(folder_open(&folder, scratch_path(&scratch, "."), &error));
  const mode_t mask = umask(0);
  OK(folder_replace(&folder, "new", "x", &error));
  umask(mask);
  ck_assert_int_eq(stat(scratch_path(&scratch, "new"), &facts), 0);
  ck_assert_uint_eq(facts.st_mode & 0777U, 0664);
  ck_assert_int_eq(chmod(scratch_path(&scratch, "new"), 0646), 0);
  OK(folder_replace(&folder, "new", "y", &error));
  ck_assert_int_eq(stat(scratch_path(&scratch, "new"), &facts), 0);
  ck_assert_uint_eq(facts.st_mode & 0777U, 0644);
  scratch_remove(&scratch);
}

#define N_WRITES 50

static void*
write_often(void* const name)
{
  SCOPED(folder_close) Folder folder;
  Error why;
  intptr_t n_failed = folder_open(&folder, scratch.directory, &why) != STATUS_OK;
  for (int i = 0; i < N_WRITES; ++i) {
    n_failed += folder_write(&folder, name, name, &why) != STATUS_OK;
  }
  return (void*)n_failed;
}

// A command may save a rack to the folder in which the state is kept.
TEST(two_writers_of_one_folder_do_not_collide)
{
  static char names[2][8] = { "a.rack", "b.rack" };
  make_scratch();
  pthread_t threads[2];
  for (int t = 0; t < 2; ++t) {
    ck_assert_int_eq(pthread_create(&threads[t], NULL, write_often, names[t]), 0);
  }
  for (int t = 0; t < 2; ++t) {
    void* n_failed = NULL;
    pthread_join(threads[t], &n_failed);
    ck_assert_int_eq((intptr_t)n_failed, 0);
  }
  ck_assert_uint_eq(scratch_count(&scratch), 2);
  scratch_remove(&scratch);
}

TEST(a_file_that_is_replaced_keeps_its_permissions)
{
  make_scratch();
  Folder folder;
  OK(folder_open(&folder, scratch_path(&scratch, "."), &error));
  umask(022);
  OK(folder_replace(&folder, "name", "one", &error));
  struct stat facts;
  ck_assert_int_eq(stat(scratch_path(&scratch, "name"), &facts), 0);
  ck_assert_uint_eq(facts.st_mode & 0777U, 0644);
  ck_assert_int_eq(chmod(scratch_path(&scratch, "name"), 0660), 0);
  OK(folder_replace(&folder, "name", "two", &error));
  ck_assert_int_eq(stat(scratch_path(&scratch, "name"), &facts), 0);
  ck_assert_uint_eq(facts.st_mode & 0777U, 0660);
  // A link is replaced by a file; the file must not get the link's permissions, 0777.
  ck_assert_int_eq(symlink("elsewhere", scratch_path(&scratch, "link")), 0);
  OK(folder_replace(&folder, "link", "three", &error));
  ck_assert_int_eq(lstat(scratch_path(&scratch, "link"), &facts), 0);
  ck_assert(S_ISREG(facts.st_mode));
  ck_assert_uint_eq(facts.st_mode & 0777U, 0644);
  folder_close(&folder);
  scratch_remove(&scratch);
}

SUITE_MAIN("state")
