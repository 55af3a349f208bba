// SHA-256 (FIPS 180-4).
//
// This isn't swift-crypto's, because the first build would then compile BoringSSL a second time, in
// addition to the copy that TLS needs.

#include "sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#include <stdatomic.h>
#endif

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t big(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// SHA-256: the fractional parts of the cube roots of the first 64 primes.
static const uint32_t roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256_block(uint32_t *h, const uint8_t *p) {
  uint32_t w[64], s[8];
  for (int i = 0; i < 16; i++) w[i] = big(p + 4 * i);
  for (int i = 16; i < 64; i++) {
    uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) + w[i - 7] +
           (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
  }
  memcpy(s, h, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t a = s[0], e = s[4];
    uint32_t first = s[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) +
                     ((e & s[5]) ^ (~e & s[6])) + roots[i] + w[i];
    uint32_t second = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) +
                      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) h[i] += s[i];
}

#if defined(__x86_64__)
// The same computation with the processor's SHA instructions, which is four times as fast.
__attribute__((target("sha,sse4.1,ssse3"))) static void sha256_blocks_native(
    uint32_t *h, const uint8_t *p, size_t count) {
  const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0bULL, 0x0405060700010203ULL);
  // The instructions expect the state as ABEF and CDGH.
  __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)h), 0xb1);
  __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(h + 4)), 0x1b);
  __m128i abef = _mm_alignr_epi8(abcd, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);
  for (; count > 0; count--, p += 64) {
    __m128i w[4], old_abef = abef, old_cdgh = cdgh;
    for (int i = 0; i < 4; i++) {
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), order);
    }
    for (int i = 0; i < 16; i++) {
      __m128i m = _mm_add_epi32(w[0], _mm_loadu_si128((const __m128i *)(roots + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, m);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(m, 0x0e));
      // Computes the message words for the four rounds that start sixteen rounds later.
      __m128i next = _mm_sha256msg1_epu32(w[0], w[1]);
      next = _mm_add_epi32(next, _mm_alignr_epi8(w[3], w[2], 4));
      next = _mm_sha256msg2_epu32(next, w[3]);
      w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
    }
    abef = _mm_add_epi32(abef, old_abef);
    cdgh = _mm_add_epi32(cdgh, old_cdgh);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128((__m128i *)h, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static int has_sha(void) {
  // Relaxed: threads that ask at the same time find the same answer.
  static atomic_int cached = -1;
  int answer = atomic_load_explicit(&cached, memory_order_relaxed);
  if (answer < 0) {
    uint32_t a = 7, b = 0, c = 0, d = 0;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    answer = __builtin_cpu_supports("sse4.1") && (b >> 29 & 1);
    atomic_store_explicit(&cached, answer, memory_order_relaxed);
  }
  return answer;
}
#endif

static void take_blocks(sha256_state *state, const uint8_t *p, size_t count) {
#if defined(__x86_64__)
  if (has_sha()) {
    sha256_blocks_native(state->words, p, count);
    return;
  }
#endif
  for (; count > 0; count--, p += 64) sha256_block(state->words, p);
}

void sha256_begin(sha256_state *state) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(state->words, start, sizeof state->words);
  state->length = 0;
}

void sha256_update(sha256_state *state, const void *bytes, size_t count) {
  // An empty buffer may have no address, which `memcpy` must not get.
  if (count == 0) return;
  const uint8_t *p = bytes;
  size_t used = state->length % 64;
  state->length += count;
  if (used > 0) {
    size_t room = 64 - used;
    if (count < room) {
      memcpy(state->block + used, p, count);
      return;
    }
    memcpy(state->block + used, p, room);
    take_blocks(state, state->block, 1);
    p += room, count -= room;
  }
  take_blocks(state, p, count / 64);
  if (count % 64 > 0) memcpy(state->block, p + count / 64 * 64, count % 64);
}

void sha256_end(sha256_state *state, uint8_t *output) {
  uint64_t bits = state->length * 8;
  uint8_t padding[72] = {0x80};
  size_t used = state->length % 64;
  size_t zeros = (used < 56 ? 56 : 120) - used;
  for (int i = 0; i < 8; i++) padding[zeros + i] = (uint8_t)(bits >> (56 - 8 * i));
  sha256_update(state, padding, zeros + 8);
  for (int i = 0; i < 32; i++) output[i] = (uint8_t)(state->words[i / 4] >> (24 - 8 * (i % 4)));
}
