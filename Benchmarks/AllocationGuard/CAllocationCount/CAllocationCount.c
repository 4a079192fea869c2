#define _GNU_SOURCE
#include "CAllocationCount.h"
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

// glibc's own, under the names that stay when a program defines the usual ones.
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_long count;
static atomic_int is_counting;

static void note(void) {
  if (atomic_load_explicit(&is_counting, memory_order_relaxed)) atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

// A sanitizer defines these itself, and this target is part of the program of the tests.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

void *malloc(size_t size) { note(); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { note(); return __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { note(); return __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { note(); return __libc_memalign(alignment, size); }
void *memalign(size_t alignment, size_t size) { note(); return __libc_memalign(alignment, size); }
int posix_memalign(void **result, size_t alignment, size_t size) {
  note();
  void *memory = __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *result = memory;
  return 0;
}

#endif

void asc_begin(void) {
  atomic_store(&count, 0);
  atomic_store(&is_counting, 1);
}

long asc_end(void) {
  atomic_store(&is_counting, 0);
  return atomic_load(&count);
}
