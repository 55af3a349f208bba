#include <stddef.h>

/// The number of heap bytes that are allocated and not freed, without what the allocator caches; 0
/// if the platform doesn't report it.
size_t heap_bytes_in_use(void);
