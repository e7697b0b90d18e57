// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Audio files, with libsndfile: complete files for effects (impulse responses, taps), and streams
   for rendering.  All functions [main, builder], not for audio threads.
*/
#ifndef WARPRACK_IO_FILE_AUDIO_FILE_H
#define WARPRACK_IO_FILE_AUDIO_FILE_H

#include "engine/base/status.h"
#include "engine/contract/effect.h"

#include <stdbool.h>
#include <stdint.h>

/**
   Load a file for an effect (FxFiles::load): WAV, RF64, W64, AIFF, AU or CAF of PCM or floats, or
   FLAC; or a text file with rows of numbers (n_channels rows of n_frames numbers; spaces, commas or
   semicolons between them; lines that begin with *, # or ; are comments).

   Audio is resampled to rate_hz with libsamplerate (best sinc quality) as an impulse response:
   scaled by the old rate divided by the new rate, so that the frequency response does not change.
   Numbers are resampled only if REW's header states their rate.

   STATUS_FILE for a file that is missing, empty, corrupt, truncated, has more than 1 GiB of samples
   or samples that are not finite, or is neither plain audio nor numbers.  The error text does not
   quote the content.
*/
NODISCARD Status audio_file_load(void* context, const char* name, double rate_hz, FxFile** file,
                                 Error* error);

/// As audio_file_load(), in two steps, for an open regular file; `name` is only for error texts.
/// Takes ownership of the descriptor.  The first step reads a text file, or the header of an audio
/// file, whose samples stay NULL until the second step.
NODISCARD Status audio_file_open_fd(int fd, const char* name, double rate_hz, FxFile** file,
                                    Error* error);
/// The second step (FxFiles::read).
NODISCARD Status audio_file_read(void* context, FxFile* file, Error* error);
void audio_file_free(void* context, FxFile* file);

typedef struct AudioReader AudioReader;

/// Open an audio file of one of the formats above.
NODISCARD Status audio_reader_open(const char* name, AudioReader** reader, Error* error);
uint32_t audio_reader_channels(const AudioReader* reader);
double audio_reader_rate(const AudioReader* reader);
/// Frames in the file; 0 if the format does not store the number.
uint64_t audio_reader_frames(const AudioReader* reader);
/// Number of frames that a truncated file lacks, according to its header.  audio_reader_read()
/// stops at the end of the file.
uint64_t audio_reader_missing(const AudioReader* reader);
/// STATUS_FILE, with both numbers of frames in the error text, if frames are missing.
NODISCARD Status audio_reader_check_whole(const AudioReader* reader, Error* error);
/// Read up to n_frames into planar out[channels][n_frames]; *n_read < n_frames only at the end.
/// STATUS_FILE: the rest of the file is corrupt.
NODISCARD Status audio_reader_read(AudioReader* reader, float* const* out, uint32_t n_frames,
                                   uint32_t* n_read, Error* error);
NODISCARD Status audio_reader_rewind(AudioReader* reader, Error* error);
void audio_reader_close(AudioReader* reader);

typedef struct AudioFormat {
  enum { AUDIO_WAV, AUDIO_W64, AUDIO_RF64, AUDIO_FLAC } container;
  enum { AUDIO_PCM16, AUDIO_PCM24, AUDIO_PCM32, AUDIO_FLOAT } encoding;
} AudioFormat;

/// Choose the container from a file name's extension (.wav .w64 .rf64 .flac), the encoding from
/// "16|24|32|float" or NULL (float; FLAC: 24).
NODISCARD Status audio_format_from(const char* name, const char* encoding, AudioFormat* format,
                                   Error* error);

/// STATUS_FILE if n_frames exceed the container's limit (WAV: 4 GiB).  The writer fails then too,
/// but a caller that knows the length can check it first.
NODISCARD Status audio_format_check_length(AudioFormat format, const char* name,
                                           uint32_t n_channels, uint64_t n_frames, Error* error);

typedef struct AudioWriter AudioWriter;

/// Write to NAME.part~ beside `name`; audio_writer_commit() renames it to `name`.  A WAV that grows
/// above 4 GiB becomes an RF64.  Samples are rounded to the nearest step, without dither.
NODISCARD Status audio_writer_open(const char* name, AudioFormat format, double rate_hz,
                                   uint32_t n_channels, AudioWriter** writer, Error* error);
/// Copy the tags and chunks of another file; README.md lists them.  Call it before the first write.
/// `n_lost` counts those that this file lacks.
NODISCARD Status audio_writer_copy_tags(AudioWriter* writer, const AudioReader* reader,
                                        uint32_t* n_lost, Error* error);
NODISCARD Status audio_writer_write(AudioWriter* writer, const float* const* in, uint32_t n_frames,
                                    Error* error);
/// Number of samples beyond full scale so far, which are saved as full scale (16, 24 and 32 bits
/// only).
uint64_t audio_writer_clipped(const AudioWriter* writer);
/// Flush and fsync the file, then rename it.  Frees the writer, also on error.
NODISCARD Status audio_writer_commit(AudioWriter* writer, Error* error);
/// Remove the partial file, and free the writer.  Accepts NULL.
void audio_writer_abandon(AudioWriter* writer);

#endif
