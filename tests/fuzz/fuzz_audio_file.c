// SPDX-License-Identifier: GPL-3.0-or-later
// Files for effects: the bytes are a file in memory, loaded as an impulse response or a table.

#include "fuzz.h"

#include "io/file/audio_file.h"

#include <math.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RATE_HZ 48000

/// Open a file in memory with these bytes; the caller closes it.
static int
file_of(const void* const bytes, const size_t n_bytes)
{
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  fuzz_check(fd >= 0 && write(fd, bytes, n_bytes) == (ssize_t)n_bytes, "a file in memory");
  return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t* const bytes, const size_t n_bytes)
{
  FxFile* file = NULL;
  Error error = { STATUS_OK, "" };
  Status status = audio_file_open_fd(file_of(bytes, n_bytes), "fuzz", RATE_HZ, &file, &error);
  if (!status && audio_file_read(NULL, file, &error)) {
    audio_file_free(NULL, file);
    file = NULL;
    status = error.status;
  }
  if (status != STATUS_OK) {
    fuzz_check(file == NULL && error.text[0] != '\0',
               "an error has a reason, and no file is returned");
    return 0;
  }
  fuzz_check(file->n_channels > 0 && file->n_frames > 0, "a loaded file has channels and frames");
  for (uint64_t i = 0; i < file->n_channels * file->n_frames; ++i) {
    fuzz_check(isfinite(file->samples[i]), "all samples are finite");
  }
  audio_file_free(NULL, file);
  return 0;
}

static void
visit_format(const int format, const float first, FuzzVisit* const visit, void* const context)
{
  const float samples[64] = { first, -0.5F, 0.25F, -0.125F };
  SF_INFO info = { .samplerate = RATE_HZ, .channels = 2, .format = format };
  const int fd = memfd_create("example", MFD_CLOEXEC);
  SNDFILE* const file = sf_open_fd(fd, SFM_WRITE, &info, SF_FALSE);
  fuzz_check(file != NULL, "libsndfile writes its own formats");
  (void)sf_writef_float(file, samples, 32);
  sf_close(file);
  struct stat facts;
  fuzz_check(fstat(fd, &facts) == 0, "the size of an example is known");
  void* const bytes = malloc((size_t)facts.st_size);
  visit(context, bytes, (size_t)pread(fd, bytes, (size_t)facts.st_size, 0));
  free(bytes);
  close(fd);
}

void
fuzz_examples(FuzzVisit* const visit, void* const context)
{
  static const int formats[] = {
    SF_FORMAT_WAV | SF_FORMAT_PCM_16,   SF_FORMAT_WAV | SF_FORMAT_PCM_24,
    SF_FORMAT_WAV | SF_FORMAT_FLOAT,    SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM,
    SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM, SF_FORMAT_WAVEX | SF_FORMAT_PCM_32,
    SF_FORMAT_RF64 | SF_FORMAT_DOUBLE,  SF_FORMAT_W64 | SF_FORMAT_PCM_16,
    SF_FORMAT_AIFF | SF_FORMAT_PCM_16,  SF_FORMAT_AU | SF_FORMAT_ULAW,
    SF_FORMAT_CAF | SF_FORMAT_ALAC_16,  SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
    SF_FORMAT_OGG | SF_FORMAT_VORBIS,   SF_FORMAT_OGG | SF_FORMAT_OPUS,
    SF_FORMAT_VOC | SF_FORMAT_PCM_U8,   SF_FORMAT_NIST | SF_FORMAT_PCM_16,
  };
  static const char* const tables[] = { "1 2 3\n4 5 6\n", "# taps\n0.5, 0.25; 1e-3\n", "nan 1\n",
                                        "1 2\n3\n", "" };
  for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); ++i) {
    visit_format(formats[i], 1.0F, visit, context);
  }
  visit_format(SF_FORMAT_WAV | SF_FORMAT_FLOAT, INFINITY, visit, context);
  visit_format(SF_FORMAT_AIFF | SF_FORMAT_DOUBLE, NAN, visit, context);
  for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); ++i) {
    visit(context, tables[i], strlen(tables[i]));
  }
}
