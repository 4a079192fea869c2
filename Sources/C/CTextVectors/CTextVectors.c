#include "CTextVectors.h"

#if defined(__x86_64__)
#include <immintrin.h>

/// Sixteen bytes, for both halves of a vector.
#define TWICE(...) _mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)

// What may be wrong with two bytes that follow each other. The tables have what remains possible for each half of the
// first byte and for the upper half of the second one; something is wrong if all three agree. The method is that of
// Keiser and Lemire, "Validating UTF-8 In Less Than One Instruction Per Byte".
enum {
  TOO_SHORT = 1 << 0,
  TOO_LONG = 1 << 1,
  OVERLONG_3 = 1 << 2,
  TOO_LARGE = 1 << 3,
  SURROGATE = 1 << 4,
  OVERLONG_2 = 1 << 5,
  TOO_LARGE_1000 = 1 << 6,
  OVERLONG_4 = 1 << 6,
  TWO_CONTINUATIONS = -128,
  ANY = TOO_SHORT | TOO_LONG | TWO_CONTINUATIONS,
  LARGE = TOO_LARGE | TOO_LARGE_1000,
  SECOND = TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS,
};

/// The bytes of a vector moved up, after the last ones of the vector before it.
#define FOLLOWING(vector, before, count) \
  _mm256_alignr_epi8(vector, _mm256_permute2x128_si256(before, vector, 0x21), 16 - (count))

__attribute__((target("avx2"), always_inline)) static inline __m256i errors(__m256i text, __m256i before) {
  const __m256i first_upper = TWICE(
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TWO_CONTINUATIONS, TWO_CONTINUATIONS,
    TWO_CONTINUATIONS, TWO_CONTINUATIONS, TOO_SHORT | OVERLONG_2, TOO_SHORT, TOO_SHORT | OVERLONG_3 | SURROGATE,
    TOO_SHORT | LARGE | OVERLONG_4);
  const __m256i first_lower = TWICE(
    ANY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4, ANY | OVERLONG_2, ANY, ANY, ANY | TOO_LARGE, ANY | LARGE, ANY | LARGE,
    ANY | LARGE, ANY | LARGE, ANY | LARGE, ANY | LARGE, ANY | LARGE, ANY | LARGE, ANY | LARGE | SURROGATE, ANY | LARGE,
    ANY | LARGE);
  const __m256i second_upper = TWICE(
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    SECOND | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4, SECOND | OVERLONG_3 | TOO_LARGE, SECOND | SURROGATE | TOO_LARGE,
    SECOND | SURROGATE | TOO_LARGE, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT);
  const __m256i low = _mm256_set1_epi8(0x0F);
  const __m256i previous = FOLLOWING(text, before, 1);
  // The shift brings bits of the neighbor, which the mask removes.
  const __m256i found = _mm256_and_si256(
    _mm256_and_si256(
      _mm256_shuffle_epi8(first_upper, _mm256_and_si256(_mm256_srli_epi16(previous, 4), low)),
      _mm256_shuffle_epi8(first_lower, _mm256_and_si256(previous, low))),
    _mm256_shuffle_epi8(second_upper, _mm256_and_si256(_mm256_srli_epi16(text, 4), low)));
  // Two continuations are right for the third and the fourth byte of a scalar, and wanted there.
  const __m256i third = _mm256_subs_epu8(FOLLOWING(text, before, 2), _mm256_set1_epi8(0xE0 - 0x80));
  const __m256i fourth = _mm256_subs_epu8(FOLLOWING(text, before, 3), _mm256_set1_epi8(0xF0 - 0x80));
  const __m256i wanted = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
  return _mm256_xor_si256(wanted, found);
}

__attribute__((target("avx2"))) static int is_utf8(const uint8_t *bytes, size_t length) {
  __m256i before = _mm256_setzero_si256(), wrong = _mm256_setzero_si256();
  size_t place = 0;
  while (length - place >= 32) {
    const __m256i text = _mm256_loadu_si256((const __m256i *)(bytes + place));
    // Between ASCII characters, nothing can be wrong.
    if (_mm256_movemask_epi8(_mm256_or_si256(text, before)) != 0) {
      wrong = _mm256_or_si256(wrong, errors(text, before));
      if (!_mm256_testz_si256(wrong, wrong)) return 0;
    }
    before = text;
    place += 32;
  }
  // Zeros follow the last byte, which are wrong inside a scalar.
  uint8_t rest[64] = {0};
  __builtin_memcpy(rest, bytes + place, length - place);
  for (int half = 0; half < 64; half += 32) {
    const __m256i text = _mm256_loadu_si256((const __m256i *)(rest + half));
    wrong = _mm256_or_si256(wrong, errors(text, before));
    before = text;
  }
  return _mm256_testz_si256(wrong, wrong);
}

static int has_vectors(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2");
}

int atv_is_utf8(const uint8_t *bytes, size_t length) {
  return length >= 64 && has_vectors() ? is_utf8(bytes, length) : -1;
}

size_t atv_xml_plain(const uint8_t *bytes, size_t *feeds) {
  const __m128i spaces = _mm_set1_epi8(' '), twos = _mm_set1_epi8(2), greater = _mm_set1_epi8('>');
  const __m128i ampersands = _mm_set1_epi8('&'), lines = _mm_set1_epi8('\n');
  for (size_t place = 0;; place += 16) {
    const __m128i text = _mm_loadu_si128((const __m128i *)(bytes + place));
    // Bytes that are not ASCII are negative. '<' and '>' differ in one bit.
    const __m128i found = _mm_or_si128(
      _mm_cmplt_epi8(text, spaces),
      _mm_or_si128(_mm_cmpeq_epi8(_mm_or_si128(text, twos), greater), _mm_cmpeq_epi8(text, ampersands)));
    unsigned special = (unsigned)_mm_movemask_epi8(found);
    if (special == 0) continue;
    const unsigned fed = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, lines));
    special &= ~fed;
    const unsigned count = special == 0 ? 16 : (unsigned)__builtin_ctz(special);
    *feeds += (size_t)__builtin_popcount(fed & ((1u << count) - 1));
    if (special != 0) return place + count;
  }
}

size_t atv_csv_content(const uint8_t *bytes, size_t length, uint8_t delimiter, uint8_t quote, int *has_high) {
  const __m128i delimiters = _mm_set1_epi8((char)delimiter), quotes = _mm_set1_epi8((char)quote);
  const __m128i feeds = _mm_set1_epi8('\n'), returns = _mm_set1_epi8('\r'), zeros = _mm_setzero_si128();
  size_t place = 0;
  while (length - place >= 16) {
    const __m128i text = _mm_loadu_si128((const __m128i *)(bytes + place));
    const __m128i found = _mm_or_si128(
      _mm_or_si128(_mm_cmpeq_epi8(text, delimiters), _mm_cmpeq_epi8(text, quotes)),
      _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(text, feeds), _mm_cmpeq_epi8(text, returns)), _mm_cmpeq_epi8(text, zeros)));
    const unsigned high = (unsigned)_mm_movemask_epi8(text), special = (unsigned)_mm_movemask_epi8(found);
    if (special != 0) {
      const unsigned count = (unsigned)__builtin_ctz(special);
      if (high & ((1u << count) - 1)) *has_high = 1;
      return place + count;
    }
    if (high != 0) *has_high = 1;
    place += 16;
  }
#else
int atv_is_utf8(const uint8_t *bytes, size_t length) { return -1; }

size_t atv_xml_plain(const uint8_t *bytes, size_t *feeds) {
  size_t place = 0;
  for (;; place++) {
    const uint8_t byte = bytes[place];
    if (byte == '\n') *feeds += 1;
    else if (byte < ' ' || byte >= 0x80 || (byte | 2) == '>' || byte == '&') return place;
  }
}

size_t atv_csv_content(const uint8_t *bytes, size_t length, uint8_t delimiter, uint8_t quote, int *has_high) {
  size_t place = 0;
#endif
  for (; place < length; place++) {
    const uint8_t byte = bytes[place];
    if (byte == delimiter || byte == quote || byte == '\n' || byte == '\r' || byte == 0) break;
    if (byte >= 0x80) *has_high = 1;
  }
  return place;
}

size_t atv_count(const uint8_t *bytes, size_t length, uint8_t wanted) {
  size_t place = 0, count = 0;
#if defined(__x86_64__)
  const __m128i all = _mm_set1_epi8((char)wanted), zeros = _mm_setzero_si128();
  __m128i sums = zeros;
  while (length - place >= 64) {
    // An equal byte becomes -1.
    const __m128i *text = (const __m128i *)(bytes + place);
    __m128i found = _mm_add_epi8(
      _mm_add_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text), all), _mm_cmpeq_epi8(_mm_loadu_si128(text + 1), all)),
      _mm_add_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text + 2), all), _mm_cmpeq_epi8(_mm_loadu_si128(text + 3), all)));
    sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_sub_epi8(zeros, found), zeros));
    place += 64;
  }
  uint64_t halves[2];
  _mm_storeu_si128((__m128i *)halves, sums);
  count = halves[0] + halves[1];
#endif
  for (; place < length; place++) count += bytes[place] == wanted;
  return count;
}

size_t atv_after_last(const uint8_t *bytes, size_t length, uint8_t wanted) {
  size_t end = length;
#if defined(__x86_64__)
  const __m128i all = _mm_set1_epi8((char)wanted);
  for (; end >= 16; end -= 16) {
    const __m128i text = _mm_loadu_si128((const __m128i *)(bytes + end - 16));
    const unsigned found = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, all));
    if (found != 0) return end - 16 + (size_t)(32 - __builtin_clz(found));
  }
#endif
  while (end > 0 && bytes[end - 1] != wanted) end--;
  return end;
}
