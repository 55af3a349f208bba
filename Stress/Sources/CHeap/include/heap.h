#include <stddef.h>

/// How many bytes of the heap are in use: allocated and not freed, whatever else the allocator holds
/// on to. Zero where the system does not say.
size_t heap_bytes_in_use(void);
