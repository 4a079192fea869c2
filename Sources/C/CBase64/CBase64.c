#include "CBase64.h"

#if defined(__x86_64__)
#include <immintrin.h>

/// Sixteen bytes, for both halves of a vector.
#define TWICE(...) _mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)

static int is_space(uint8_t byte) { return byte == '\n' || byte == ' ' || byte == '\r' || byte == '\t'; }

__attribute__((target("avx2,bmi"))) static size_t decode(
  const uint8_t *source, size_t length, uint8_t *target, size_t *written
) {
  // A byte is a digit if the bits of its lower half and those of its upper half have none in common. Each bit stands for
  // the upper halves in which a lower half is not a digit.
  const __m256i lower_bits = TWICE(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A);
  const __m256i upper_bits = TWICE(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10);
  // What is added to a digit for its value, by its upper half; one place before for the slash.
  const __m256i offsets = TWICE(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m256i slash = _mm256_set1_epi8('/');
  size_t place = 0;
  uint8_t *const start = target;
  while (length - place >= 40) {
    const __m256i text = _mm256_loadu_si256((const __m256i *)(source + place));
    // The shift brings bits of the neighbor, which the mask removes.
    const __m256i upper = _mm256_and_si256(_mm256_srli_epi32(text, 4), _mm256_set1_epi8(0x0F));
    const __m256i lower = _mm256_and_si256(text, _mm256_set1_epi8(0x0F));
    const __m256i others = _mm256_and_si256(_mm256_shuffle_epi8(lower_bits, lower), _mm256_shuffle_epi8(upper_bits, upper));
    // Zero in bytes that are digits: of these, whole groups of four are decoded up to the first other byte.
    const unsigned digits = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(others, _mm256_setzero_si256()));
    const __m256i row = _mm256_add_epi8(_mm256_cmpeq_epi8(text, slash), upper);
    const __m256i values = _mm256_add_epi8(text, _mm256_shuffle_epi8(offsets, row));
    // Pairs of six bits to twelve, pairs of those to 24, and the three bytes of each next to each other.
    const __m256i twelve = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x01400140));
    const __m256i whole = _mm256_madd_epi16(twelve, _mm256_set1_epi32(0x00011000));
    const __m256i packed = _mm256_shuffle_epi8(whole, TWICE(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
    const __m256i joined = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)target, joined);
    // By constants: with a number that is computed, the next group would have to wait for it.
    if (digits == 0xFFFFFFFF) {
      target += 24;
      place += 32;
      continue;
    }
    const size_t before = (size_t)__builtin_ctz(~digits), count = before & ~(size_t)3;
    // The usual end of a line, after 76 digits, for the same reason.
    if (before == 12 && source[place + 12] == '\n') {
      target += 9;
      place += 13;
      continue;
    }
    target += count / 4 * 3;
    place += count;
    // The end of a line between two fours is skipped here: lines are short.
    if (count < before || !is_space(source[place])) break;
    place += 1;
  }
  *written += (size_t)(target - start);
  return place;
}

__attribute__((target("avx2"))) static size_t encode(const uint8_t *source, size_t length, uint8_t *target) {
  const __m256i order = TWICE(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
  // What is added to a value for its digit: by 0 for small letters, 1 to 10 for digits, 11 and 12 for the signs, 13 for
  // capital letters.
  const __m256i offsets = TWICE(71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 65, 0, 0);
  size_t place = 0;
  while (length - place >= 28) {
    const __m128i first = _mm_loadu_si128((const __m128i *)(source + place));
    const __m128i second = _mm_loadu_si128((const __m128i *)(source + place + 12));
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1), order);
    const __m256i odd = _mm256_mulhi_epu16(_mm256_and_si256(bytes, _mm256_set1_epi32(0x0FC0FC00)), _mm256_set1_epi32(0x04000040));
    const __m256i even = _mm256_mullo_epi16(_mm256_and_si256(bytes, _mm256_set1_epi32(0x003F03F0)), _mm256_set1_epi32(0x01000010));
    const __m256i values = _mm256_or_si256(odd, even);
    const __m256i large = _mm256_subs_epu8(values, _mm256_set1_epi8(51));
    const __m256i capital = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), values);
    const __m256i row = _mm256_or_si256(large, _mm256_and_si256(capital, _mm256_set1_epi8(13)));
    const __m256i digits = _mm256_add_epi8(values, _mm256_shuffle_epi8(offsets, row));
    _mm256_storeu_si256((__m256i *)(target + place / 3 * 4), digits);
    place += 24;
  }
  return place;
}

static int has_vectors(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}

size_t asb_decode_groups(const uint8_t *source, size_t length, uint8_t *target, size_t *written) {
  return length >= 40 && has_vectors() ? decode(source, length, target, written) : 0;
}

size_t asb_encode_groups(const uint8_t *source, size_t length, uint8_t *target) {
  return length >= 28 && has_vectors() ? encode(source, length, target) : 0;
}
#else
size_t asb_decode_groups(const uint8_t *source, size_t length, uint8_t *target, size_t *written) { return 0; }
size_t asb_encode_groups(const uint8_t *source, size_t length, uint8_t *target) { return 0; }
#endif
