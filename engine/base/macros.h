// SPDX-License-Identifier: GPL-3.0-or-later
/// Attributes of functions under short names, and the length of an array.
#ifndef WARPRACK_ENGINE_BASE_MACROS_H
#define WARPRACK_ENGINE_BASE_MACROS_H

#define NODISCARD         __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NOINLINE          __attribute__((noinline)) // rare work, which must not slow its caller down

/// Marks functions that run on an audio thread: no allocation, lock, system call or unbounded wait.
#if defined(__clang__) && __has_attribute(nonblocking)
#define REALTIME __attribute__((nonblocking))
#else
#define REALTIME
#endif

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#endif
