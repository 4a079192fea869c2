#ifndef ATOMIC_STORE_KIT_CBASE64_H
#define ATOMIC_STORE_KIT_CBASE64_H
#include <stddef.h>
#include <stdint.h>

/// Decodes groups of 32 digits with vector instructions, where the processor has them, up to the first byte that is not
/// a digit, of which it decodes the whole fours before it, or to the last group that leaves at least eight digits.
/// Returns how many digits were decoded, a multiple of 4; 0 where there are no such instructions. For four digits there
/// are three bytes in the target; all that a group of 32 would take, and up to eight bytes more, are written to.
size_t asb_decode_groups(const uint8_t *_Nonnull source, size_t length, uint8_t *_Nonnull target);

/// Encodes groups of 24 bytes, up to the last that leaves at least four bytes. Returns how many bytes were encoded, a
/// multiple of 24, each group as 32 digits; 0 where there are no such instructions.
size_t asb_encode_groups(const uint8_t *_Nonnull source, size_t length, uint8_t *_Nonnull target);
#endif
