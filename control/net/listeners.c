// SPDX-License-Identifier: GPL-3.0-or-later
// A list of hosts and ports; getaddrinfo(3) finds the addresses.

#include "listeners.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORD 264U // longer than any name with a port

/// Split HOST:PORT or [HOST]:PORT.  Returns false if it has another form, or no valid port.
static bool
split_word(char* const word, char** const host, char** const port, bool* const is_ip6)
{
  char* const colon = strrchr(word, ':');
  *is_ip6 = word[0] == '[';
  *host = word + *is_ip6;
  if (!colon || colon == word) {
    return false;
  }
  *colon = '\0';
  *port = colon + 1;
  const size_t n = strlen(*host);
  const bool has_end = n > 0 && (*host)[n - 1U] == ']';
  if (*is_ip6 != has_end || (!*is_ip6 && strchr(*host, ':'))) {
    return false;
  }
  (*host)[n - has_end] = '\0';
  const size_t n_digits = strspn(*port, "0123456789");
  const unsigned long number = strtoul(*port, NULL, 10);
  return (*host)[0] && n_digits && n_digits < 6U && !(*port)[n_digits] && number > 0UL &&
         number < 65536UL;
}

static Status
find_address(const char* const host, const char* const port, const bool is_ip6, Peer* const peer,
             Error* const error)
{
  const struct addrinfo hints = { .ai_flags = AI_NUMERICSERV | (is_ip6 ? AI_NUMERICHOST : 0),
                                  .ai_family = is_ip6 ? AF_INET6 : AF_UNSPEC,
                                  .ai_socktype = SOCK_DGRAM };
  struct addrinfo* found = NULL;
  const int code = getaddrinfo(host, port, &hints, &found);
  if (code && is_ip6) {
    return error_set(error, STATUS_BAD_ARG, "\"%.100s\" is not a numeric IPv6 address", host);
  }
  if (code) {
    return error_set(error, STATUS_NET, "no machine \"%.100s\": %s", host, gai_strerror(code));
  }
  const struct addrinfo* to = found;
  for (const struct addrinfo* at = found; at && to->ai_family != AF_INET; at = at->ai_next) {
    to = at->ai_family == AF_INET ? at : to;
  }
  *peer = (Peer){ .n_bytes = to->ai_addrlen };
  memcpy(&peer->address, to->ai_addr, to->ai_addrlen);
  freeaddrinfo(found);
  return STATUS_OK;
}

static Status
add_word(Listeners* const listeners, const char* const text, const size_t length,
         Error* const error)
{
  char word[MAX_WORD] = "";
  char* host = NULL;
  char* port = NULL;
  bool is_ip6 = false;
  memcpy(word, text, length < MAX_WORD ? length : MAX_WORD - 1U);
  if (!split_word(word, &host, &port, &is_ip6)) {
    return error_set(error, STATUS_BAD_ARG,
                     "\"%.*s\" is not HOST:PORT, as in tablet.local:9001, 192.168.1.20:9001 or "
                     "[fe80::7%%eth0]:9001",
                     (int)(length < 100U ? length : 100U), text);
  }
  if (listeners->n == LISTENERS_MAX) {
    return error_set(error, STATUS_LIMIT, "more than %u listeners", LISTENERS_MAX);
  }
  const Status status = find_address(host, port, is_ip6, &listeners->peers[listeners->n], error);
  listeners->n += status == STATUS_OK;
  return status;
}

Status
listeners_read(Listeners* const listeners, const char* const text, Error* const error)
{
  const char* at = text;
  for (;;) {
    const size_t length = strcspn(at, ",");
    const Status status = add_word(listeners, at, length, error);
    if (status != STATUS_OK || !at[length]) {
      return status;
    }
    at += length + 1U;
  }
}
