#pragma once

#include <stddef.h>
#include <stdint.h>

/// The state of an incremental digest.
///
/// All three digests process blocks of 64 bytes, and differ only in how they process a block.
typedef struct {
  uint32_t words[8];
  uint64_t length;
  uint8_t block[64];
  int kind;
} digest_state;

enum { DIGEST_MD5 = 0, DIGEST_SHA1 = 1, DIGEST_SHA256 = 2 };

void digest_begin(digest_state *_Nonnull state, int kind);
void digest_update(digest_state *_Nonnull state, const void *_Nullable bytes, size_t count);
/// Writes 16, 20, or 32 bytes, and returns their number.
int digest_end(digest_state *_Nonnull state, uint8_t *_Nonnull output);
