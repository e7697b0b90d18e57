// SPDX-License-Identifier: GPL-3.0-or-later
// When a call of liblo fails for want of memory, `send` and `status` report it and end with code 6.
// A thread answers in place of a server.

#include "tests/support/failing_lo.h"
#include "tests/support/suite.h"
#include "tools/commands.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_WORDS 12

static int server; // its socket
static char port[8];
static pthread_t thread;

/// Answer pings and /server/status, until an empty packet comes.
static void*
answer(void* const context)
{
  static const char done[] = "/done\0\0\0,s\0\0/server/ping\0\0\0";
  static const char status[] = "/server/status\0\0,si\0late\0\0\0\0\0\0\0";
  char packet[2048];
  struct sockaddr_in from;
  socklen_t n_from = sizeof(from);
  while (recvfrom(server, packet, sizeof(packet), 0, (struct sockaddr*)&from, &n_from) > 0) {
    if (strcmp(packet, "/server/ping") == 0) {
      sendto(server, done, sizeof(done), 0, (const struct sockaddr*)&from, n_from);
    } else if (strcmp(packet, "/server/status") == 0) {
      sendto(server, status, sizeof(status), 0, (const struct sockaddr*)&from, n_from);
    }
  }
  return context;
}

static void
start(void)
{
  struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n_bytes = sizeof(own);
  server = socket(AF_INET, SOCK_DGRAM, 0);
  ck_assert_int_eq(bind(server, (const struct sockaddr*)&own, sizeof(own)), 0);
  ck_assert_int_eq(getsockname(server, (struct sockaddr*)&own, &n_bytes), 0);
  snprintf(port, sizeof(port), "%u", ntohs(own.sin_port));
  ck_assert_int_eq(pthread_create(&thread, NULL, answer, NULL), 0);
}

static void
stop(void)
{
  struct sockaddr_in own;
  socklen_t n_bytes = sizeof(own);
  getsockname(server, (struct sockaddr*)&own, &n_bytes);
  sendto(server, "", 0, 0, (const struct sockaddr*)&own, n_bytes);
  pthread_join(thread, NULL);
  close(server);
}

/// Run a subcommand; `output` gets what it prints on stdout and stderr.  Returns its exit code.
static int
run(const char* const* const words, char* const output, const size_t n_bytes)
{
  char* argv[MAX_WORDS + 2] = { NULL };
  int argc = 0;
  for (; words[argc]; ++argc) {
    argv[argc] = (char*)words[argc];
  }
  argv[argc++] = (char*)"-p";
  argv[argc++] = port;
  FILE* const caught = tmpfile();
  ck_assert_ptr_nonnull(caught);
  fflush(NULL);
  const int kept_out = dup(STDOUT_FILENO);
  const int kept_err = dup(STDERR_FILENO);
  dup2(fileno(caught), STDOUT_FILENO);
  dup2(fileno(caught), STDERR_FILENO);
  const int exit_code = program_command(words[0])->run(argc, argv);
  fflush(NULL);
  dup2(kept_out, STDOUT_FILENO);
  dup2(kept_err, STDERR_FILENO);
  close(kept_out);
  close(kept_err);
  rewind(caught);
  output[fread(output, 1, n_bytes - 1U, caught)] = '\0';
  fclose(caught);
  return exit_code;
}

static const struct {
  const char* words[MAX_WORDS - 2];
  uint32_t n_calls; // Of liblo, with the ping that follows and its answer
} commands[] = {
  { { "send", "/server/version" }, 8 },
  { { "send", "/rack/get", "1", "5000000000", "1.5", "text" }, 12 },
  { { "send", "/server/describe", "/node/hall/*" }, 9 }, // an argument, not another message
  { { "send", "--types", "ihfdsTF", "/rack/get", "1", "2", "3", "4", "5" }, 15 },
  { { "send", "-b", "/rack/get", "1", ",", "/server/version" }, 12 },
  { { "status" }, 3 },
};

TEST_ROWS(each_failing_call_of_liblo_is_reported_as_out_of_memory, commands)
{
  char output[4096];
  char expected[64];
  snprintf(expected, sizeof(expected), "warprack %s: out of memory\n", commands[row].words[0]);
  start();
  uint32_t n_good = 0;
  for (;; ++n_good) {
    failing_lo_arm(n_good);
    const int exit_code = run(commands[row].words, output, sizeof(output));
    if (!failing_lo_disarm()) {
      ck_assert_msg(exit_code == 0, "%d: %s", exit_code, output);
      break;
    }
    ck_assert_msg(exit_code == 6 && strcmp(output, expected) == 0, "call %u: %d: %s", n_good,
                  exit_code, output);
  }
  ck_assert_uint_eq(n_good, commands[row].n_calls);
  stop();
}

SUITE_MAIN("talk")
