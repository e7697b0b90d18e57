// SPDX-License-Identifier: GPL-3.0-or-later
// A recursive-descent parser: a line is a reason and items, and an item may be a group of items.

#include "osc_corpus.h"

#include "control/net/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES   (1U << 17U) // twice the largest datagram
#define MAX_PACKETS 1024U

typedef struct Line {
  const char* path;
  unsigned number;
  const char* at; // the next character to read
  uint64_t now_ntp;
  uint8_t bytes[MAX_BYTES];
  size_t n_bytes;
} Line;

static _Noreturn void
give_up(const Line* const line, const char* const what)
{
  fprintf(stderr, "%s:%u: %s: %s", line->path, line->number, what, line->at);
  exit(2);
}

static void
put(Line* const line, const void* const bytes, const size_t n_bytes)
{
  if (line->n_bytes + n_bytes > MAX_BYTES) {
    give_up(line, "too many bytes");
  }
  memcpy(line->bytes + line->n_bytes, bytes, n_bytes);
  line->n_bytes += n_bytes;
}

static void
put_u32(Line* const line, const uint32_t value)
{
  const uint8_t bytes[] = { (uint8_t)(value >> 24U), (uint8_t)(value >> 16U),
                            (uint8_t)(value >> 8U), (uint8_t)value };
  put(line, bytes, sizeof(bytes));
}

static void
put_tag(Line* const line, const uint64_t tag)
{
  put_u32(line, (uint32_t)(tag >> 32U));
  put_u32(line, (uint32_t)tag);
}

/// Append a text up to its closing quote.  A text in double quotes is an OSC string: zeros fill it
/// up to a multiple of 4 bytes.
static void
read_text(Line* const line)
{
  const char quote = *line->at++;
  const char* const end = strchr(line->at, quote);
  if (!end) {
    give_up(line, "missing closing quote");
  }
  const size_t length = (size_t)(end - line->at);
  put(line, line->at, length);
  if (quote == '"') {
    put(line, "\0\0\0", 4U - length % 4U);
  }
  line->at = end + 1;
}

static void read_items(Line* line);

/// Append a group: its size, then its items.
static void
read_element(Line* const line)
{
  const size_t begin = line->n_bytes;
  put_u32(line, 0);
  ++line->at;
  read_items(line);
  if (*line->at != ']') {
    give_up(line, "missing ]");
  }
  ++line->at;
  const size_t end = line->n_bytes;
  line->n_bytes = begin;
  put_u32(line, (uint32_t)(end - begin - 4U));
  line->n_bytes = end;
}

static void
read_byte(Line* const line)
{
  const char digits[] = { line->at[0], line->at[0] ? line->at[1] : '\0', '\0' };
  if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1])) {
    give_up(line, "not an item");
  }
  const uint8_t byte = (uint8_t)strtoul(digits, NULL, 16);
  put(line, &byte, 1);
  line->at += 2;
}

static void
read_item(Line* const line)
{
  char* end = NULL;
  switch (*line->at) {
  case '"':
  case '\'':
    read_text(line);
    break;
  case '[':
    read_element(line);
    break;
  case '=':
    put_u32(line, (uint32_t)strtoll(line->at + 1, &end, 10));
    line->at = end;
    break;
  case '@':
    put_tag(line,
            line->now_ntp + (uint64_t)(int64_t)(strtod(line->at + 1, &end) * (double)TAG_SECOND));
    line->at = end;
    break;
  case 'n':
    put_tag(line, TAG_IMMEDIATELY);
    line->at += strlen("now");
    break;
  default:
    read_byte(line);
  }
}

/// Repeat the bytes from `begin` on, as often as the number after `*` says.
static void
read_times(Line* const line, const size_t begin)
{
  char* end = NULL;
  const unsigned long n_times = strtoul(line->at + 1, &end, 10);
  const size_t n_once = line->n_bytes - begin;
  for (unsigned long i = 1; i < n_times; ++i) {
    put(line, line->bytes + begin, n_once);
  }
  line->at = end;
}

/// Append items up to a "]", a comment or the end of the line.
static void
read_items(Line* const line)
{
  for (;;) {
    line->at += strspn(line->at, " \r\n");
    if (!*line->at || *line->at == '#' || *line->at == ']') {
      return;
    }
    const size_t begin = line->n_bytes;
    read_item(line);
    if (*line->at == '*') {
      read_times(line, begin);
    }
  }
}

static PacketFault
read_reason(Line* const line)
{
  const size_t length = strcspn(line->at, " \n");
  for (int reason = 0; reason < PACKET_N_FAULTS; ++reason) {
    const char* const word = packet_fault_word((PacketFault)reason);
    if (strlen(word) == length && strncmp(word, line->at, length) == 0) {
      line->at += length;
      return (PacketFault)reason;
    }
  }
  give_up(line, "unknown reason");
}

static OscPacket
read_packet(Line* const line)
{
  line->n_bytes = 0;
  OscPacket packet = { .reason = read_reason(line), .line = line->number };
  read_items(line);
  if (*line->at == ']') {
    give_up(line, "] without [");
  }
  packet.n_bytes = line->n_bytes;
  packet.bytes = malloc(line->n_bytes + !line->n_bytes);
  if (!packet.bytes) {
    give_up(line, "out of memory");
  }
  memcpy(packet.bytes, line->bytes, line->n_bytes);
  return packet;
}

OscCorpus
osc_corpus_read(const char* const path, const uint64_t now_ntp)
{
  static Line line;
  line = (Line){ .path = path, .at = "\n", .now_ntp = now_ntp };
  OscCorpus corpus = { calloc(MAX_PACKETS, sizeof(OscPacket)), 0 };
  FILE* const file = fopen(path, "re");
  if (!file || !corpus.packets) {
    give_up(&line, "cannot be read");
  }
  char* text = NULL;
  size_t capacity = 0;
  while (getline(&text, &capacity, file) >= 0) {
    line.at = text;
    ++line.number;
    if (*text != '#' && *text != '\n') {
      if (corpus.n == MAX_PACKETS) {
        give_up(&line, "too many packets");
      }
      corpus.packets[corpus.n++] = read_packet(&line);
    }
  }
  free(text);
  fclose(file);
  return corpus;
}

void
osc_corpus_clear(OscCorpus* const corpus)
{
  for (uint32_t i = 0; i < corpus->n; ++i) {
    free(corpus->packets[i].bytes);
  }
  free(corpus->packets);
  *corpus = (OscCorpus){ NULL, 0 };
}
