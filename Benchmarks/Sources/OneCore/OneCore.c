#if defined(__linux__)
#define _GNU_SOURCE
#include <sched.h>
#endif

#include "OneCore.h"

bool stay_on_this_core(void) {
#if defined(__linux__)
  int core = sched_getcpu();
  if (core < 0) return false;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  return sched_setaffinity(0, sizeof cores, &cores) == 0;
#else
  return false;
#endif
}
