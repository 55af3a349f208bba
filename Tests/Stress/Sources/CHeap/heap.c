#include "heap.h"

#if defined(__APPLE__)
#include <malloc/malloc.h>

size_t heap_bytes_in_use(void) {
  malloc_statistics_t all_zones;
  malloc_zone_statistics(NULL, &all_zones);
  return all_zones.size_in_use;
}
#else
// Swift's C library module doesn't include this header.
#include <malloc.h>

size_t heap_bytes_in_use(void) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  struct mallinfo2 all_arenas = mallinfo2();
  return all_arenas.uordblks + all_arenas.hblkhd;
#else
  return 0;
#endif
}
#endif
