#pragma once

#include <stddef.h>
#include <stdint.h>

/// The state of a checksum that is being computed.
typedef struct {
  uint32_t words[8];
  uint64_t length;
  uint8_t block[64];
} sha256_state;

void sha256_begin(sha256_state *_Nonnull state);
void sha256_update(sha256_state *_Nonnull state, const void *_Nullable bytes, size_t count);
/// Writes 32 bytes.
void sha256_end(sha256_state *_Nonnull state, uint8_t *_Nonnull output);
