#ifndef MALLOC_COUNTER_H
#define MALLOC_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// What the whole process allocated and freed while counting was on.
///
/// Bytes are usable sizes, as `malloc_usable_size` gives them: what a block really takes from the
/// heap, without the allocator's own header. They are a little more than what was asked for.
typedef struct {
  /// Blocks handed out; a `realloc` that moves or grows a block counts as one.
  int64_t allocations;
  /// Bytes handed out, whether freed since or not.
  int64_t bytes;
  /// Bytes handed out and not yet freed. Negative if older blocks were freed.
  int64_t live_bytes;
} malloc_counts;

/// Whether this platform's allocator is interposed; if not, all counts stay zero.
bool malloc_counter_is_available(void);

/// Switches counting on or off. While it is off an allocation costs one predictable branch more.
void malloc_counter_set_enabled(bool enabled);

malloc_counts malloc_counter_read(void);

#endif
