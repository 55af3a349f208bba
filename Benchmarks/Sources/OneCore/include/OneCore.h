#ifndef ONE_CORE_H
#define ONE_CORE_H

#include <stdbool.h>

/// Binds the calling thread, and the threads it starts from now on, to the core it runs on.
///
/// Returns false where the system cannot do that.
bool stay_on_this_core(void);

#endif
