#ifndef ATOMIC_STORE_KIT_CBASE64_H
#define ATOMIC_STORE_KIT_CBASE64_H
#include <stddef.h>
#include <stdint.h>

/// Decodes groups of 32 digits with vector instructions, where the processor has them, up to the first byte that is
/// neither a digit nor white space between two fours, or to the last group that leaves at least eight bytes. It ends
/// between two fours, and has decoded all that were whole.
///
/// Returns how many bytes of the source were read; 0 where there are no such instructions. How many bytes of the target
/// were written is added to `written`, three for four digits; all that a group of 32 digits at the last place would take,
/// and up to eight bytes more, are written to.
size_t asb_decode_groups(
  const uint8_t *_Nonnull source, size_t length, uint8_t *_Nonnull target, size_t *_Nonnull written);

/// Encodes groups of 24 bytes, up to the last that leaves at least four bytes. Returns how many bytes were encoded, a
/// multiple of 24, each group as 32 digits; 0 where there are no such instructions.
size_t asb_encode_groups(const uint8_t *_Nonnull source, size_t length, uint8_t *_Nonnull target);
#endif
