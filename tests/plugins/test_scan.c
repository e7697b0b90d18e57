// SPDX-License-Identifier: GPL-3.0-or-later
// A scan describes all bundles of all formats; one that crashes, hangs, prints or forks costs
// itself only, and is not tried again before it changes.  What did not change is not described
// again.

#include "plugins/scan/scan.h"
#include "plugins/scan/scan_filter.h"
#include "tests/support/fake_formats.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOME_MS 300U                // limit for bundles that hang
#define LONG_MS (3U * FAKE_SLOW_MS) // shorter than all plugins of a slow bundle take

static Scratch folder;

/// The result of the last scan.
static Catalogue* catalogue;
static ScanCounts counts;

// ---- scans ----

static void
start(void)
{
  folder = scratch_new();
  unsetenv("WARPRACK_USUAL_PLUGINS"); // the folders of these formats belong to the test
  setenv("BOX_PATH", "/nowhere", 1);
  setenv("LEAF_PATH", folder.directory, 1);
  setenv("TREE_PATH", folder.directory, 1);
}

static void
stop(void)
{
  catalogue_free(catalogue);
  catalogue = NULL;
  scratch_remove(&folder);
}

static void
put(const char* const name, const char* const words)
{
  scratch_write(&folder, name, words, strlen(words));
}

/// Scan; the old catalogue is the last result.
static void
scan_with(const ScanRequest* const request)
{
  ScanRequest complete = *request;
  complete.old = catalogue;
  char* text = NULL;
  size_t n_bytes = 0;
  Catalogue* newer = NULL;
  OK(scan_run(&complete, &text, &n_bytes, &counts, &error));
  OK(catalogue_new(text, n_bytes, &newer, &error));
  catalogue_free(catalogue);
  catalogue = newer;
}

static void
scan(void)
{
  scan_with(&(ScanRequest){ .old = NULL });
}

static const CatalogueBundle*
find_bundle(const char* const name)
{
  uint32_t n = 0;
  const CatalogueBundle* const bundles = catalogue_bundles(catalogue, &n);
  for (uint32_t b = 0; b < n; ++b) {
    if (!strcmp(strrchr(bundles[b].path, '/') + 1, name)) {
      return &bundles[b];
    }
  }
  return NULL;
}

static const char*
fault_of(const char* const name)
{
  const CatalogueBundle* const bundle = find_bundle(name);
  ck_assert_msg(bundle != NULL, "no bundle %s", name);
  return bundle->fault;
}

/// The name of the plugin of a bundle, "" if there is none.
static const char*
plugin_of_bundle(const char* const name)
{
  uint32_t n_bundles = 0;
  uint32_t n = 0;
  const CatalogueBundle* const bundles = catalogue_bundles(catalogue, &n_bundles);
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  for (uint32_t e = 0; e < n; ++e) {
    if (&bundles[entries[e].bundle] == find_bundle(name)) {
      return entries[e].name;
    }
  }
  return "";
}

/// True if the process that a bundle has left behind is gone.
static bool
is_process_gone(void)
{
  char words[64];
  read_words(scratch_path(&folder, "pid"), words);
  const pid_t pid = atoi(words);
  ck_assert_int_gt(pid, 0);
  return kill(pid, 0) && errno == ESRCH;
}

TEST(every_bundle_of_every_format_is_described)
{
  put("a.leaf", "good 1");
  put("b.leaf", "good 2");
  put("c.tree", "good 3");
  put("d.other", "good 4");
  scan();
  ck_assert_uint_eq(counts.n_bundles, 3);
  ck_assert_uint_eq(counts.n_described, 3);
  ck_assert_uint_eq(counts.n_failed, 0);
  ck_assert_str_eq(plugin_of_bundle("a.leaf"), "good 1");
  ck_assert_str_eq(plugin_of_bundle("b.leaf"), "good 2");
  ck_assert_str_eq(plugin_of_bundle("c.tree"), "good 3/");
}

TEST(a_plugin_without_audio_outputs_cannot_be_used)
{
  put("a.leaf", "good");
  put("b.leaf", "mute");
  scan();
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  ck_assert_uint_eq(n, 2);
  ck_assert_str_eq(entries[0].fault, "");
  ck_assert_str_eq(entries[1].fault, "it has no audio output");
}

TEST(no_folder_and_no_bundle_make_an_empty_catalogue)
{
  setenv("LEAF_PATH", "/nowhere::relative:~", 1);
  setenv("TREE_PATH", "", 1);
  setenv("HOME", folder.directory, 1);
  scan();
  ck_assert_uint_eq(counts.n_bundles, 0);
  ck_assert(scan_is_current(catalogue));
}

TEST(a_bundle_is_a_folder_or_a_file_as_its_format_says)
{
  put("a.box", "a file");
  ck_assert_int_eq(mkdir(scratch_path(&folder, "b.box"), 0700), 0);
  ck_assert_int_eq(mkdir(scratch_path(&folder, "c.leaf"), 0700), 0);
  unsetenv("BOX_PATH");
  setenv("HOME", folder.directory, 1);
  scan();
  ck_assert_uint_eq(counts.n_bundles, 1);
  ck_assert_str_eq(plugin_of_bundle("b.box"), "good");
  rmdir(scratch_path(&folder, "b.box"));
  rmdir(scratch_path(&folder, "c.leaf"));
}

TEST(a_file_makes_a_folder_with_any_name_a_bundle)
{
  ck_assert_int_eq(mkdir(scratch_path(&folder, "crate"), 0700), 0);
  ck_assert_int_eq(mkdir(scratch_path(&folder, "other"), 0700), 0);
  put("crate/label", "");
  put("other/labels", "");
  put("label", "of no folder in this one");
  unsetenv("BOX_PATH");
  setenv("HOME", folder.directory, 1);
  scan();
  ck_assert_uint_eq(counts.n_bundles, 1);
  ck_assert_str_eq(plugin_of_bundle("crate"), "good");
  unlink(scratch_path(&folder, "crate/label"));
  unlink(scratch_path(&folder, "other/labels"));
  rmdir(scratch_path(&folder, "crate"));
  rmdir(scratch_path(&folder, "other"));
}

TEST(a_variable_may_add_folders_to_those_of_its_format)
{
  ck_assert_int_eq(mkdir(scratch_path(&folder, "crates"), 0700), 0);
  ck_assert_int_eq(mkdir(scratch_path(&folder, "own"), 0700), 0);
  setenv("HOME", folder.directory, 1);
  put("crates/a.crate", "of the system");
  put("own/z.crate", "own");
  scan();
  ck_assert_uint_eq(counts.n_bundles, 1);
  setenv("CRATE_PATH", scratch_path(&folder, "own"), 1);
  scan();
  ck_assert_uint_eq(counts.n_bundles, 2);
  ck_assert_str_eq(plugin_of_bundle("a.crate"), "of the system");
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  ck_assert_str_eq(entries[0].name, "own"); // the first of two plugins with one id
  unsetenv("CRATE_PATH");
  unlink(scratch_path(&folder, "crates/a.crate"));
  unlink(scratch_path(&folder, "own/z.crate"));
  rmdir(scratch_path(&folder, "crates"));
  rmdir(scratch_path(&folder, "own"));
}

TEST(folders_come_in_the_order_of_the_variable)
{
  char path[2 * PATH_MAX];
  ck_assert_int_eq(mkdir(scratch_path(&folder, "1"), 0700), 0);
  ck_assert_int_eq(mkdir(scratch_path(&folder, "2"), 0700), 0);
  put("1/a.leaf", "good first by name");
  put("2/a.leaf", "good first by folder");
  snprintf(path, sizeof(path), "%s/2:%s/1", folder.directory, folder.directory);
  setenv("LEAF_PATH", path, 1);
  scan();
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  ck_assert_uint_eq(n, 2);
  ck_assert_str_eq(entries[0].name, "good first by folder");
  unlink(scratch_path(&folder, "1/a.leaf"));
  unlink(scratch_path(&folder, "2/a.leaf"));
  rmdir(scratch_path(&folder, "1"));
  rmdir(scratch_path(&folder, "2"));
}

TEST(a_format_may_have_bundles_in_folders_of_its_folders)
{
  ck_assert_int_eq(mkdir(scratch_path(&folder, "maker"), 0700), 0);
  put("maker/a.leaf", "good 1");
  put("maker/b.tree", "good 2"); // not of a format that looks there
  ck_assert_int_eq(symlink("..", scratch_path(&folder, "maker/round")), 0);
  scan();
  ck_assert_uint_eq(counts.n_bundles, 1);
  ck_assert_str_eq(plugin_of_bundle("a.leaf"), "good 1");
  unlink(scratch_path(&folder, "maker/round"));
  unlink(scratch_path(&folder, "maker/a.leaf"));
  unlink(scratch_path(&folder, "maker/b.tree"));
  rmdir(scratch_path(&folder, "maker"));
}

/// As a process that was started by nohup.
TEST(an_ignored_signal_does_not_end_a_scan)
{
  put("a.leaf", "good");
  signal(SIGHUP, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGHUP);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  raise(SIGHUP); // pending, because it is blocked
  scan();
  sigprocmask(SIG_UNBLOCK, &blocked, NULL);
  signal(SIGHUP, SIG_DFL);
  ck_assert_uint_eq(counts.n_described, 1);
}

TEST(a_bundle_with_two_names_is_described_once)
{
  put("a.leaf", "good");
  ck_assert_int_eq(symlink(scratch_path(&folder, "a.leaf"), scratch_path(&folder, "b.leaf")), 0);
  ck_assert_int_eq(symlink(folder.directory, scratch_path(&folder, "again")), 0);
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/again/:%s", folder.directory, folder.directory);
  setenv("LEAF_PATH", path, 1);
  scan();
  ck_assert_uint_eq(counts.n_bundles, 1);
  ck_assert_str_eq(plugin_of_bundle("a.leaf"), "good");
}

/// What a bundle does, and the fault that the catalogue has then; "": none.
static const struct {
  const char* words;
  const char* fault;
} manners[] = {
  { "abort", "crashed (SIGABRT): no display" },
  { "busy", "took too long" },
  { "chdir", "" },
  { "close", "" },
  { "crash", "crashed (SIGSEGV)" },
  { "exit", "ended the process with code 0" },
  { "fail", "no such symbol" },
  { "flood", "its description is too large" },
  { "fork", "" },
  { "other", "its description is damaged: line 3: a plugin of another format than its bundle" },
  { "print", "" },
  { "three", "" },
};

TEST_ROWS(a_bundle_costs_no_other_one, manners)
{
  put("a.leaf", "good 1");
  put("b.leaf", manners[row].words);
  put("c.leaf", "good 2");
  char before[PATH_MAX];
  char after[PATH_MAX];
  ck_assert_ptr_nonnull(getcwd(before, sizeof(before)));
  scan();
  ck_assert_str_eq(fault_of("b.leaf"), manners[row].fault);
  ck_assert_str_eq(plugin_of_bundle("b.leaf"), manners[row].fault[0] ? "" : manners[row].words);
  ck_assert_str_eq(plugin_of_bundle("a.leaf"), "good 1");
  ck_assert_str_eq(plugin_of_bundle("c.leaf"), "good 2");
  ck_assert_uint_eq(counts.n_failed, manners[row].fault[0] != '\0');
  ck_assert_ptr_nonnull(getcwd(after, sizeof(after)));
  ck_assert_str_eq(before, after);
}

TEST(a_bundle_that_hangs_is_killed)
{
  put("a.leaf", "hang");
  put("b.tree", "hang");
  scan_with(&(ScanRequest){ .limit_ms = SOME_MS });
  ck_assert_str_eq(fault_of("a.leaf"), "took too long");
  ck_assert_str_eq(fault_of("b.tree"), "took too long");
  ck_assert(is_process_gone());
}

TEST(the_limit_begins_again_with_every_plugin)
{
  put("a.leaf", "slow");
  scan_with(&(ScanRequest){ .limit_ms = LONG_MS });
  ck_assert_str_eq(fault_of("a.leaf"), "");
  ck_assert_str_eq(plugin_of_bundle("a.leaf"), "slow");
}

static const char* const forking[] = { "a.leaf", "a.tree" };

TEST_ROWS(no_process_outlives_its_bundle, forking)
{
  put(forking[row], "fork");
  scan();
  ck_assert_str_eq(fault_of(forking[row]), "");
#if SCAN_HAS_FILTER
  ck_assert_int_ne(access(scratch_path(&folder, "pid"), F_OK), 0); // there was none
#else
  ck_assert(is_process_gone());
#endif
}

TEST(no_process_outlives_the_preparation)
{
  put("a.tree", "forks");
  scan();
  ck_assert_str_eq(fault_of("a.tree"), "");
  ck_assert(is_process_gone());
}

/// The number of processes with a name.
static unsigned
count_processes(const char* const name)
{
  unsigned n = 0;
  DIR* const processes = opendir("/proc");
  ck_assert_ptr_nonnull(processes);
  for (const struct dirent* entry = NULL; (entry = readdir(processes));) {
    char path[PATH_MAX];
    char words[64];
    snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
    read_words(path, words);
    words[strcspn(words, "\n")] = '\0';
    n += !strcmp(words, name);
  }
  closedir(processes);
  return n;
}

TEST(a_storm_of_forks_leaves_no_process)
{
  put("a.leaf", "storm");
  put("b.leaf", "good");
  scan();
  ck_assert_str_eq(fault_of("a.leaf"), "");
  ck_assert_str_eq(plugin_of_bundle("b.leaf"), "good");
  ck_assert_uint_eq(count_processes(FAKE_STORM_NAME), 0);
  struct stat born;
  ck_assert_int_eq(stat(scratch_path(&folder, "born"), &born), 0);
#if SCAN_HAS_FILTER
  ck_assert_int_eq(born.st_size, 0); // each fork is refused
#endif
  unlink(scratch_path(&folder, "born"));
}

TEST(a_plugin_has_no_display_no_descriptors_and_no_privileges)
{
  setenv("DISPLAY", ":0", 1);
  put("a.leaf", "look");
  scan();
  ck_assert_str_eq(plugin_of_bundle("a.leaf"),
                   "display none, qt offscreen, locale C.UTF-8, core 0, files 65536, open 3, "
                   "privileges 1, leader 1");
  ck_assert_str_eq(getenv("DISPLAY"), ":0");
}

TEST(a_plugin_reaches_no_network_no_program_and_no_other_process)
{
#if SCAN_HAS_FILTER
  put("a.leaf", "reach");
  scan();
  assert_says(plugin_of_bundle("a.leaf"),
              "network 1, local 1, program 1, trace 1, descriptors 1, ");
#else
  suite_skip("there is no filter for this processor");
#endif
}

TEST(a_plugin_takes_no_pages_of_shared_memory)
{
#if SCAN_HAS_FILTER
  put("a.leaf", "reach");
  scan();
  assert_says(plugin_of_bundle("a.leaf"), "holes 1");
#else
  suite_skip("there is no filter for this processor");
#endif
}

TEST(a_plugin_reaches_no_memory_of_its_parent)
{
  if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1) {
    suite_skip("the kernel has no Landlock");
  }
  put("a.leaf", "reach");
  scan();
  assert_says(plugin_of_bundle("a.leaf"), "memory 1");
}

TEST(an_unchanged_bundle_is_not_described_again)
{
  put("a.leaf", "good 1");
  put("b.tree", "good 2");
  scan();
  size_t n_before = 0;
  size_t n_after = 0;
  SCOPED_MEMORY char* const before = strdup(catalogue_text(catalogue, &n_before));
  scan();
  ck_assert_uint_eq(counts.n_described, 0);
  ck_assert_uint_eq(counts.n_kept, 2);
  ck_assert_str_eq(catalogue_text(catalogue, &n_after), before);
  scan_with(&(ScanRequest){ .everything = true });
  ck_assert_uint_eq(counts.n_described, 2);
}

TEST(a_changed_bundle_is_described_again)
{
  put("a.leaf", "good 1");
  put("b.leaf", "good 2");
  scan();
  put("a.leaf", "good again");
  scan();
  ck_assert_uint_eq(counts.n_described, 1);
  ck_assert_str_eq(plugin_of_bundle("a.leaf"), "good again");
  ck_assert_str_eq(plugin_of_bundle("b.leaf"), "good 2");
}

TEST(a_removed_bundle_goes)
{
  put("a.leaf", "good 1");
  put("b.leaf", "good 2");
  scan();
  unlink(scratch_path(&folder, "a.leaf"));
  scan();
  ck_assert_ptr_null(find_bundle("a.leaf"));
  ck_assert_uint_eq(counts.n_bundles, 1);
  ck_assert_uint_eq(counts.n_described, 0);
}

TEST(a_bundle_that_somebody_else_has_killed_is_tried_again)
{
  put("a.leaf", "killed");
  put("b.tree", "killed");
  scan();
  ck_assert_str_eq(fault_of("a.leaf"), "crashed (SIGKILL)");
  ck_assert_uint_eq(counts.n_failed, 2);
  ck_assert(scan_is_current(catalogue)); // or every search would scan
  put("c.leaf", "good");
  scan();
  ck_assert_uint_eq(counts.n_described, 3);
}

TEST(a_broken_bundle_is_remembered_and_not_run_again)
{
  put("a.leaf", "crash");
  put("b.tree", "abort");
  scan();
  scan();
  ck_assert_uint_eq(counts.n_described, 0);
  ck_assert_uint_eq(counts.n_failed, 2);
  ck_assert_str_eq(fault_of("a.leaf"), "crashed (SIGSEGV)");
  ck_assert_str_eq(fault_of("b.tree"), "crashed (SIGABRT): no display");
  put("a.leaf", "good");
  scan();
  ck_assert_uint_eq(counts.n_described, 1);
  ck_assert_str_eq(fault_of("a.leaf"), "");
  scan_with(&(ScanRequest){ .everything = true });
  ck_assert_uint_eq(counts.n_described, 2);
}

TEST(bundles_that_are_prepared_together_are_described_together)
{
  put("a.tree", "good 1");
  put("b.tree", "crash");
  put("c.leaf", "good 3");
  scan();
  ck_assert_str_eq(plugin_of_bundle("a.tree"), "good 1/crash/");
  put("d.tree", "good 4");
  scan();
  ck_assert_uint_eq(counts.n_described, 2);
  ck_assert_str_eq(plugin_of_bundle("a.tree"), "good 1/good 4/");
  ck_assert_str_eq(plugin_of_bundle("d.tree"), "good 1/good 4/");
  ck_assert_str_eq(fault_of("b.tree"), "crashed (SIGSEGV)");
  unlink(scratch_path(&folder, "d.tree"));
  scan();
  ck_assert_uint_eq(counts.n_described, 1);
  ck_assert_str_eq(plugin_of_bundle("a.tree"), "good 1/");
}

TEST(preparing_goes_on_without_a_bundle_that_ends_it)
{
  put("a.tree", "good 1");
  put("b.tree", "badly");
  put("c.tree", "slowly");
  put("d.tree", "good 4");
  scan_with(&(ScanRequest){ .limit_ms = SOME_MS });
  ck_assert_str_eq(fault_of("b.tree"), "crashed (SIGSEGV)");
  ck_assert_str_eq(fault_of("c.tree"), "took too long");
  ck_assert_str_eq(plugin_of_bundle("a.tree"), "good 1/good 4/");
  ck_assert_str_eq(plugin_of_bundle("d.tree"), "good 1/good 4/");
  scan();
  ck_assert_uint_eq(counts.n_described, 0);
}

TEST(a_format_that_cannot_prepare_is_tried_again)
{
  put("a.tree", "never");
  put("b.tree", "good");
  scan();
  ck_assert_str_eq(fault_of("a.tree"), "cannot prepare");
  ck_assert_str_eq(fault_of("b.tree"), "cannot prepare");
  ck_assert(scan_is_current(catalogue)); // or every search would scan
  scan();
  ck_assert_uint_eq(counts.n_described, 2);
}

TEST(a_catalogue_is_current_until_a_bundle_changes)
{
  put("a.leaf", "good 1");
  put("b.tree", "crash");
  scan();
  ck_assert(scan_is_current(catalogue));
  put("c.leaf", "good");
  ck_assert(!scan_is_current(catalogue));
  unlink(scratch_path(&folder, "c.leaf"));
  ck_assert(scan_is_current(catalogue));
  put("a.leaf", "good again");
  ck_assert(!scan_is_current(catalogue));
  scan();
  setenv("LEAF_PATH", "/nowhere", 1);
  ck_assert(!scan_is_current(catalogue));
}

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
#define N_NAMES 2U

/// The leaf hangs in a child of the scan, the tree in a grandchild.
TEST_ROWS(a_signal_ends_the_scan_and_its_children, ending)
{
  static const char* const names[N_NAMES] = { "a.leaf", "a.tree" };
  put(names[row % (int)N_NAMES], "hang");
  const pid_t pid = fork();
  if (!pid) {
    signal(ending[row], SIG_DFL); // not the handler of Check
    scan();
    _exit(0);
  }
  AWAIT(!access(scratch_path(&folder, "pid"), F_OK));
  char words[64];
  AWAIT((read_words(scratch_path(&folder, "pid"), words), words[0]));
  ck_assert_int_eq(kill(pid, ending[row]), 0);
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == ending[row]);
  ck_assert(is_process_gone());
}

SUITE_MAIN_WITH("scan", start, stop)
