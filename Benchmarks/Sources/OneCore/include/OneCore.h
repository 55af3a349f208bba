#ifndef ONE_CORE_H
#define ONE_CORE_H

#include <stdbool.h>

/// Binds the calling thread, and the threads that it starts from now on, to the core it runs on.
///
/// Returns false if the system doesn't support that.
bool stay_on_this_core(void);

#endif
