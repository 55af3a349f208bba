#include "MallocCounter.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_bool enabled;
static _Atomic int64_t allocations;
static _Atomic int64_t bytes;
static _Atomic int64_t live_bytes;

void malloc_counter_set_enabled(bool on) { atomic_store(&enabled, on); }

malloc_counts malloc_counter_read(void) {
  malloc_counts counts = {
      .allocations = atomic_load(&allocations),
      .bytes = atomic_load(&bytes),
      .live_bytes = atomic_load(&live_bytes),
  };
  return counts;
}

#if defined(__linux__) && defined(__GLIBC__)

#include <errno.h>
#include <malloc.h>
#include <unistd.h>

// An executable's own symbols take precedence over those of shared libraries, so the allocator's
// functions that are defined here also replace those that the Swift runtime and Dispatch call.
// glibc's implementations stay reachable under these names.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

bool malloc_counter_is_available(void) { return true; }

static inline bool counting(void) {
  return __builtin_expect(atomic_load_explicit(&enabled, memory_order_relaxed), 0);
}

static void add(void *block) {
  if (block == NULL) return;
  int64_t size = (int64_t)malloc_usable_size(block);
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&bytes, size, memory_order_relaxed);
  atomic_fetch_add_explicit(&live_bytes, size, memory_order_relaxed);
}

static void subtract(int64_t size) {
  atomic_fetch_sub_explicit(&live_bytes, size, memory_order_relaxed);
}

void *malloc(size_t size) {
  void *block = __libc_malloc(size);
  if (counting()) add(block);
  return block;
}

void *calloc(size_t count, size_t size) {
  void *block = __libc_calloc(count, size);
  if (counting()) add(block);
  return block;
}

void *realloc(void *old, size_t size) {
  if (!counting()) return __libc_realloc(old, size);
  int64_t old_size = old == NULL ? 0 : (int64_t)malloc_usable_size(old);
  void *block = __libc_realloc(old, size);
  // A failed realloc leaves the old block unchanged; a realloc to size zero frees it.
  if (block != NULL || size == 0) subtract(old_size);
  add(block);
  return block;
}

void free(void *block) {
  if (counting() && block != NULL) subtract((int64_t)malloc_usable_size(block));
  __libc_free(block);
}

void *memalign(size_t alignment, size_t size) {
  void *block = __libc_memalign(alignment, size);
  if (counting()) add(block);
  return block;
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
    return EINVAL;
  }
  void *block = memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}

void *valloc(size_t size) { return memalign((size_t)sysconf(_SC_PAGESIZE), size); }

#else

bool malloc_counter_is_available(void) { return false; }

#endif
