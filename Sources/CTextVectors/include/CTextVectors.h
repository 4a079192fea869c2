#pragma once

#include <stddef.h>
#include <stdint.h>

/// Whether bytes are well-formed UTF-8: 1 or 0; -1 if the processor does not have the instructions, or there are too few
/// bytes to be worth it.
int atv_is_utf8(const uint8_t *bytes, size_t length);

/// The number of bytes before the first that a CSV reader must look at: a delimiter, a quote, a line ending or a NUL; the
/// length if there is none.
///
/// \param has_high Set to 1 if one of the bytes before it is not ASCII.
size_t atv_csv_content(const uint8_t *bytes, size_t length, uint8_t delimiter, uint8_t quote, int *has_high);
