#ifndef C_INDEX_READER_H
#define C_INDEX_READER_H

#include <stddef.h>

/// A text that isn't terminated.
typedef struct {
  const char *data;
  size_t length;
} index_text;

/// Calls `found` for each occurrence of a symbol in the index store at `store`, and `outdated` for
/// each file that has been changed since the build, whose occurrences are left out.
///
/// `library` is the path of `libIndexStore`. Returns NULL, or a message about what failed.
const char *read_index(const char *library, const char *store, void *context,
                       void (*found)(void *context, index_text path, unsigned line,
                                     unsigned column, index_text name, index_text usr),
                       void (*outdated)(void *context, index_text path));

#endif
