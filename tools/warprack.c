// SPDX-License-Identifier: GPL-3.0-or-later
// The program: finds the subcommand and runs it.

#include "commands.h"

#include "engine/base/hint.h"
#include "engine/base/text.h"
#include "engine/contract/backend.h"
#include "engine/contract/effect.h"
#include "engine/rack/rack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char license[] =
    "Copyright 2026 the warprack authors.\n"
    "License GPL-3.0-or-later: free software, without warranty of any kind.\n";

static int
print_help(void)
{
  printf("usage: " PROGRAM_NAME " COMMAND [options] [arguments]\n\n"
         "A rack of audio effects that runs live and renders files.\n\n");
  uint32_t n = 0;
  const Command* const* const commands = program_commands(&n);
  for (uint32_t i = 0; i < n; ++i) {
    printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
  }
  printf("\n" PROGRAM_NAME " COMMAND --help describes a command; " PROGRAM_NAME
         " --version prints the version.\n"
         "Options may stand anywhere on the line; words after -- are not options.\n\n"
         "Exit status: 0 done, 2 invalid usage or rack, 3 audio i/o, 4 backend not available, "
         "5 file, 6 memory.\n");
  return EXIT_SUCCESS;
}

/// True for a file of the rack language, or a chain that begins with an effect.
static bool
looks_like_rack(const char* const word)
{
  char first[64];
  snprintf(first, sizeof(first), "%.*s", (int)strcspn(word, " |:("), word);
  const size_t n = strlen(word);
  return fx_find(first) || rack_is_format(first) || (n > 5U && !strcmp(word + n - 5U, ".rack"));
}

static int
refuse(const char* const word)
{
  uint32_t n = 0;
  const Command* const* const commands = program_commands(&n);
  const char* names[64];
  for (uint32_t i = 0; i < n && i < ARRAY_LEN(names); ++i) {
    names[i] = commands[i]->name;
  }
  char hint[HINT_BYTES] = "it is an option, and no command follows it";
  if (looks_like_rack(word)) {
    strcpy(hint, "a rack comes after check, render or run");
  } else if (word[0] != '-') {
    name_hint(hint, word, names, n);
  }
  char shown[HINT_BYTES];
  snprintf(shown, sizeof(shown), "%s", word);
  text_make_printable(shown);
  fprintf(stderr, PROGRAM_NAME ": unknown command '%s'; %s; see " PROGRAM_NAME " --help\n", shown,
          hint);
  return status_exit_code(STATUS_BAD_ARG);
}

/// Find the command: the first word, or if that is an option, the first word that is a command's
/// name.  Returns its index; 0: there is none.
static int
find_command(const int argc, char** const argv)
{
  int at = 1;
  while (argv[1][0] == '-' && at < argc && !program_command(argv[at])) {
    ++at;
  }
  return at < argc && program_command(argv[at]) ? at : 0;
}

static int
print_version(void)
{
  printf(PROGRAM_NAME " " WARPRACK_VERSION " (%s)\n%s", program_commit, license);
  return EXIT_SUCCESS;
}

/// Flush stdout: a list cut off by a full disk is an error.
static int
end_output(const int exit_code)
{
  const bool is_cut = fflush(stdout) || ferror(stdout);
  if (is_cut && exit_code == EXIT_SUCCESS) {
    fprintf(stderr, PROGRAM_NAME ": cannot write to standard output: %s\n", strerror(errno));
    return status_exit_code(STATUS_FILE);
  }
  return exit_code;
}

/// Change "help COMMAND ..." to "COMMAND ... --help".
static void
read_help_of_command(const int argc, char** const argv)
{
  static char option[] = "--help";
  if (argc > 2 && !strcmp(argv[1], "help")) {
    memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
    argv[argc - 1] = option;
  }
}

/// The arguments for a program that a session manager has started: without any, it runs.
static void
read_session(int* const argc, char*** const argv)
{
  static char run[] = "run";
  static char* words[] = { NULL, run, NULL };
  const char* const url = getenv("NSM_URL");
  if (*argc < 2 && url && url[0]) {
    words[0] = (*argv)[0];
    *argc = 2;
    *argv = words;
  }
}

int
main(int argc, char** argv)
{
  read_session(&argc, &argv);
  if (argc < 2) {
    fprintf(stderr, PROGRAM_NAME ": which command? See " PROGRAM_NAME " --help\n");
    return status_exit_code(STATUS_BAD_ARG);
  }
  read_help_of_command(argc, argv);
  const char* const word = argv[1];
  if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
    return end_output(print_help());
  }
  if (!strcmp(word, "--version") || !strcmp(word, "version")) {
    return end_output(print_version());
  }
  const int at = find_command(argc, argv);
  if (!at) {
    return refuse(word);
  }
  const Command* const command = program_command(argv[at]);
  const bool is_first = at == 1;
  if (!is_first) {
    argv[0] = argv[at];
    argv[at] = NULL;
  }
  const int result = command->run(argc - is_first, argv + is_first);
  const int exit_code = command->may_lose_output ? result : end_output(result);
  if (device_backend_was_left()) { // its driver may still be busy
    _exit(exit_code);              // other streams are those of plugins, which may hold them
  }
  return exit_code;
}
