// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Faults at run time.  With the environment variable WARPRACK_FAULT_SOCKET=NAME a process listens
   on the abstract unix datagram socket NAME.PID.  Each datagram is a command; the reply goes to its
   sender:

     arm LIST     "done", or "fail" and the invalid part
     disarm       "done"
     inherit LIST "done": workers that this process starts later begin with the list
     list         a line for each armed fault
*/

#include "engine/base/faults.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define VARIABLE "WARPRACK_FAULT_SOCKET"

static void
carry_out(const char* const command, char* const answer, const size_t n_bytes)
{
  Error error;
  snprintf(answer, n_bytes, "done");
  if (!strncmp(command, "arm ", 4)) {
    if (faults_arm(command + 4, &error)) {
      snprintf(answer, n_bytes, "fail %s", error.text);
    }
  } else if (!strncmp(command, "inherit ", 8)) {
    setenv("WARPRACK_FAULTS", command + 8, 1);
  } else if (!strcmp(command, "disarm")) {
    faults_disarm();
  } else if (!strcmp(command, "list")) {
    faults_print(answer, n_bytes);
  } else {
    snprintf(answer, n_bytes, "fail no such command");
  }
}

static void*
listen_main(void* const context)
{
  const int fd = *(const int*)context;
  for (;;) {
    char command[1024];
    char answer[2048];
    struct sockaddr_un from;
    socklen_t n_from = sizeof(from);
    const ssize_t n =
        recvfrom(fd, command, sizeof(command) - 1U, 0, (struct sockaddr*)&from, &n_from);
    if (n < 0) {
      continue; // interrupted
    }
    command[n] = '\0';
    carry_out(command, answer, sizeof(answer));
    if (sendto(fd, answer, strlen(answer), MSG_DONTWAIT, (struct sockaddr*)&from, n_from) < 0) {
      continue; // a sender without an address gets no reply
    }
  }
  return NULL;
}

static bool
start(const char* const name)
{
  static int fd;
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const int length =
      snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1U, "%s.%ld", name, (long)getpid());
  sigset_t all;
  sigset_t before;
  pthread_t thread;
  fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (length < 0 || (size_t)length >= sizeof(address.sun_path) - 1U || fd < 0 ||
      bind(fd, (const struct sockaddr*)&address,
           (socklen_t)(sizeof(sa_family_t) + 1U + (size_t)length)) != 0) {
    return false;
  }
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before); // inherited: signals go to the program's own threads
  const bool started = !pthread_create(&thread, NULL, listen_main, &fd);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started && !pthread_detach(thread);
}

/// Start the thread before main().
__attribute__((constructor)) static void
begin(void)
{
  const char* const name = getenv(VARIABLE);
  if (name && !start(name)) {
    perror(VARIABLE);
    _exit(EXIT_FAILURE);
  }
}
