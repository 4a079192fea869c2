#ifndef ATOMIC_STORE_KIT_CBASE64_H
#define ATOMIC_STORE_KIT_CBASE64_H
#include <stddef.h>
#include <stdint.h>

/// Decodes groups of 32 digits with vector instructions, where the processor has them, up to the first byte that is not
/// a digit or the last group that leaves at least eight digits. Returns how many digits were decoded, a multiple of 32;
/// 0 where there are no such instructions. For 32 digits there are 24 bytes in the target, and up to eight more are
/// written to.
size_t asb_decode_groups(const uint8_t *_Nonnull source, size_t length, uint8_t *_Nonnull target);

/// Encodes groups of 24 bytes, up to the last that leaves at least four bytes. Returns how many bytes were encoded, a
/// multiple of 24, each group as 32 digits; 0 where there are no such instructions.
size_t asb_encode_groups(const uint8_t *_Nonnull source, size_t length, uint8_t *_Nonnull target);
#endif
