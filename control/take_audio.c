// SPDX-License-Identifier: GPL-3.0-or-later
// Writes inputs in the AU format: big-endian, a header of six words, interleaved samples.

#include "take_audio.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AU_MAGIC   0x2E736E64U // ".snd"
#define AU_UNKNOWN UINT32_MAX  // length: to the end of the file
#define AU_FLOAT   6U
#define CHUNK      1024U       // frames
#define MAX_SILENT (1U << 20U) // frames that were not recorded, or before the take

static bool
add_words(TextBuffer* const bytes, const uint32_t* const words, const size_t n)
{
  char* const to = text_buffer_reserve(bytes, n * sizeof(uint32_t));
  for (size_t w = 0; to && w < n; ++w) {
    const uint32_t word = htonl(words[w]);
    memcpy(to + w * sizeof(word), &word, sizeof(word));
  }
  bytes->n += to ? n * sizeof(uint32_t) : 0U;
  return to;
}

Status
take_audio_begin(TakeAudio* const audio, Engine* const engine, const uint32_t n_in,
                 const double rate_hz, Error* const error)
{
  if (n_in < 1U || n_in > LISTEN_CHANNELS) {
    return error_set(error, STATUS_LIMIT, "audio of 1 to %u inputs can be recorded, not of %u",
                     LISTEN_CHANNELS, n_in);
  }
  const uint32_t header[] = {
    AU_MAGIC, 24U, AU_UNKNOWN, AU_FLOAT, (uint32_t)llrint(rate_hz), n_in
  };
  *audio = (TakeAudio){ .is_on = true, .n_in = n_in };
  if (!add_words(&audio->bytes, header, ARRAY_LEN(header))) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const PortRange ports = { .n = n_in };
  float none = 0.0F;
  double rate = 0.0;
  uint64_t n_lost = 0;
  (void)engine_listen(engine, LISTEN_TAKE, &ports, &none, 0U, &rate,
                      &n_lost); // from the next block
  return STATUS_OK;
}

/// Append silence up to the first block.
static bool
pad(TakeAudio* const audio, const uint64_t n_frames)
{
  const uint32_t silence[LISTEN_CHANNELS] = { 0 };
  bool has_room = n_frames <= MAX_SILENT;
  for (uint64_t f = 0; has_room && f < n_frames; ++f) {
    has_room = add_words(&audio->bytes, silence, audio->n_in);
  }
  return has_room;
}

/// Find the place of the frames that follow, whose first one has the frame time `start`: after
/// silence if the frames between were not recorded, as when the audio begins again.  0: the audio
/// has begun again, and the frames are from before that.
static bool
find_place(TakeAudio* const audio, const uint64_t start)
{
  if (audio->has_begun && (start == audio->start || start == 0U)) {
    return true;
  }
  const uint64_t next = audio->next_frame;
  audio->has_begun = true;
  audio->start = start;
  audio->n_early = start < next ? next - start : 0U;
  audio->next_frame = start > next ? start : next;
  return audio->n_early <= MAX_SILENT && (start <= next || pad(audio, start - next));
}

Status
take_audio_read(TakeAudio* const audio, Engine* const engine, Error* const error)
{
  const PortRange ports = { .n = audio->n_in };
  float samples[CHUNK * LISTEN_CHANNELS];
  uint32_t words[CHUNK * LISTEN_CHANNELS];
  double rate_hz = 0.0;
  uint64_t n_lost = 0;
  uint32_t n = CHUNK;
  while (n == CHUNK) {
    n = engine_listen(engine, LISTEN_TAKE, &ports, samples, CHUNK, &rate_hz, &n_lost);
    if (n && !find_place(audio, engine_listen_start(engine, LISTEN_TAKE))) {
      return error_set(error, STATUS_LIMIT, "the input cannot be recorded");
    }
    const uint32_t first = audio->n_early < n ? (uint32_t)audio->n_early : n;
    const size_t n_samples = (size_t)(n - first) * audio->n_in;
    audio->n_early -= first;
    memcpy(words, samples + (size_t)first * audio->n_in, n_samples * sizeof(float));
    if (!add_words(&audio->bytes, words, n_samples)) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    audio->next_frame += n - first;
  }
  return n_lost ? error_set(error, STATUS_LIMIT, "%llu frames of the input are lost",
                            (unsigned long long)n_lost)
                : STATUS_OK;
}

void
take_audio_end(TakeAudio* const audio, Engine* const engine)
{
  if (audio->is_on) {
    const PortRange none = { .n = 0U };
    float sample = 0.0F;
    double rate_hz = 0.0;
    uint64_t n_lost = 0;
    (void)engine_listen(engine, LISTEN_TAKE, &none, &sample, 0U, &rate_hz, &n_lost);
  }
  free(text_buffer_take(&audio->bytes));
  *audio = (TakeAudio){ 0 };
}
