#ifndef MALLOC_COUNTER_H
#define MALLOC_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// The allocations of the whole process while counting was enabled.
///
/// Bytes are usable sizes, as `malloc_usable_size` returns them, without the allocator's own
/// header. They are slightly larger than the requested sizes.
typedef struct {
  /// The number of blocks allocated; a `realloc` that moves or grows a block counts as one.
  int64_t allocations;
  /// The number of bytes allocated, whether freed since or not.
  int64_t bytes;
  /// The number of bytes allocated and not yet freed; negative if older blocks were freed.
  int64_t live_bytes;
} malloc_counts;

/// Returns whether this platform's allocator is interposed; if not, all counts are zero.
bool malloc_counter_is_available(void);

/// Enables or disables counting. While it is disabled, an allocation costs one additional
/// predictable branch.
void malloc_counter_set_enabled(bool enabled);

malloc_counts malloc_counter_read(void);

#endif
