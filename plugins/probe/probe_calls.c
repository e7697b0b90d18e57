// SPDX-License-Identifier: GPL-3.0-or-later
// Counts calls of libraries by replacing functions in their tables of addresses (ELF, gABI chapter
// "Dynamic Linking": the relocations DT_JMPREL and DT_RELA name the words that the linker fills).

#include "probe_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static _Thread_local CallCounts* counts; ///< NULL: nothing is counted

// ---- the functions that count ----

static void
count_allocation(void)
{
  if (counts) {
    ++counts->n_allocations;
  }
}

static void
count_lock(void)
{
  if (counts) {
    ++counts->n_locks;
  }
}

static void*
counted_malloc(const size_t n_bytes)
{
  count_allocation();
  return malloc(n_bytes);
}

static void*
counted_calloc(const size_t n, const size_t size)
{
  count_allocation();
  return calloc(n, size);
}

static void*
counted_realloc(void* const memory, const size_t n_bytes)
{
  count_allocation();
  return realloc(memory, n_bytes);
}

static void
counted_free(void* const memory)
{
  count_allocation();
  free(memory);
}

static int
counted_posix_memalign(void** const memory, const size_t alignment, const size_t n_bytes)
{
  count_allocation();
  return posix_memalign(memory, alignment, n_bytes);
}

static void*
counted_aligned_alloc(const size_t alignment, const size_t n_bytes)
{
  count_allocation();
  return aligned_alloc(alignment, n_bytes);
}

static int
counted_mutex_lock(pthread_mutex_t* const mutex)
{
  count_lock();
  return pthread_mutex_lock(mutex);
}

static int
counted_cond_wait(pthread_cond_t* const condition, pthread_mutex_t* const mutex)
{
  count_lock();
  return pthread_cond_wait(condition, mutex);
}

static int
counted_sem_wait(sem_t* const semaphore)
{
  count_lock();
  return sem_wait(semaphore);
}

static int
counted_usleep(const useconds_t us)
{
  count_lock();
  return usleep(us);
}

static int
counted_nanosleep(const struct timespec* const wanted, struct timespec* const left)
{
  count_lock();
  return nanosleep(wanted, left);
}

typedef void (*Function)(void);

/// A function of the C library, and the one that replaces it.
typedef struct Replacement {
  const char* name;
  Function counted;
} Replacement;

static const Replacement replacements[] = {
  { "aligned_alloc", (Function)counted_aligned_alloc },
  { "calloc", (Function)counted_calloc },
  { "free", (Function)counted_free },
  { "malloc", (Function)counted_malloc },
  { "nanosleep", (Function)counted_nanosleep },
  { "posix_memalign", (Function)counted_posix_memalign },
  { "pthread_cond_wait", (Function)counted_cond_wait },
  { "pthread_mutex_lock", (Function)counted_mutex_lock },
  { "realloc", (Function)counted_realloc },
  { "sem_wait", (Function)counted_sem_wait },
  { "usleep", (Function)counted_usleep },
};

// ---- the tables ----

/// What the dynamic section of a library says of its relocations.
typedef struct Tables {
  ElfW(Addr) base;
  const char* names;
  const ElfW(Sym) * symbols;
  const ElfW(Rela) * lists[2]; ///< DT_JMPREL, DT_RELA
  size_t n_bytes[2];
} Tables;

static void*
pointer_at(const ElfW(Addr) address)
{
  return (void*)address; // NOLINT(performance-no-int-to-ptr): the linker's tables have numbers
}

static void
read_entry(Tables* const tables, const ElfW(Dyn) * const entry)
{
  switch (entry->d_tag) { // the linker has added the base to the pointers
  case DT_STRTAB:
    tables->names = pointer_at(entry->d_un.d_ptr);
    break;
  case DT_SYMTAB:
    tables->symbols = pointer_at(entry->d_un.d_ptr);
    break;
  case DT_JMPREL:
    tables->lists[0] = pointer_at(entry->d_un.d_ptr);
    break;
  case DT_PLTRELSZ:
    tables->n_bytes[0] = entry->d_un.d_val;
    break;
  case DT_RELA:
    tables->lists[1] = pointer_at(entry->d_un.d_ptr);
    break;
  case DT_RELASZ:
    tables->n_bytes[1] = entry->d_un.d_val;
    break;
  default:
    break;
  }
}

/// The symbol of a relocation that is the address of a symbol; 0: another relocation.
static size_t
symbol_of(const ElfW(Rela) * const relocation)
{
#if defined(__x86_64__)
  const unsigned type = ELF64_R_TYPE(relocation->r_info);
  const bool is_address = type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
  return is_address ? ELF64_R_SYM(relocation->r_info) : 0U;
#elif defined(__aarch64__)
  const unsigned type = ELF64_R_TYPE(relocation->r_info);
  const bool is_address = type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
  return is_address ? ELF64_R_SYM(relocation->r_info) : 0U;
#else
  (void)relocation;
  return 0; // nothing is counted
#endif
}

/// Write a word that may be in memory that the linker has protected.
static void
replace_word(const ElfW(Addr) address, const Function function)
{
  const uintptr_t n_page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void* const page = pointer_at(address & ~(n_page - 1U));
  if (!mprotect(page, n_page, PROT_READ | PROT_WRITE)) {
    memcpy(pointer_at(address), &function, sizeof(function));
  }
}

static void
replace_all(const Tables* const tables)
{
  for (uint32_t l = 0; l < 2U; ++l) {
    for (size_t r = 0; tables->lists[l] && r < tables->n_bytes[l] / sizeof(ElfW(Rela)); ++r) {
      const ElfW(Rela)* const relocation = &tables->lists[l][r];
      const size_t symbol = symbol_of(relocation);
      const char* const name = symbol ? tables->names + tables->symbols[symbol].st_name : "";
      for (size_t f = 0; f < sizeof(replacements) / sizeof(replacements[0]); ++f) {
        if (!strcmp(replacements[f].name, name)) {
          replace_word(tables->base + relocation->r_offset, replacements[f].counted);
        }
      }
    }
  }
}

/// The C library and the linker call themselves while they hold locks of their own.
static bool
is_watched(const char* const path)
{
  static const char* const others[] = { "libc.so",    "ld-linux",    "libpthread.so", "libasan.so",
                                        "libtsan.so", "libubsan.so", "linux-vdso" };
  bool is_other = !*path; // this program
  for (size_t o = 0; o < sizeof(others) / sizeof(others[0]); ++o) {
    is_other = is_other || strstr(path, others[o]);
  }
  return !is_other;
}

static int
watch_library(struct dl_phdr_info* const library, const size_t size, void* const nothing)
{
  (void)size;
  (void)nothing;
  Tables tables = { .base = library->dlpi_addr };
  for (uint32_t h = 0; is_watched(library->dlpi_name) && h < library->dlpi_phnum; ++h) {
    if (library->dlpi_phdr[h].p_type == PT_DYNAMIC) {
      const ElfW(Dyn)* entry = pointer_at(library->dlpi_addr + library->dlpi_phdr[h].p_vaddr);
      for (; entry->d_tag != DT_NULL; ++entry) {
        read_entry(&tables, entry);
      }
    }
  }
  if (tables.names && tables.symbols) {
    replace_all(&tables);
  }
  return 0;
}

void
calls_watch(void)
{
  dl_iterate_phdr(watch_library, NULL);
}

void
calls_count(CallCounts* const into)
{
  counts = into;
}
