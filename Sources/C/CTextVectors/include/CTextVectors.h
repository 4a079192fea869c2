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

/// The number of bytes before the first that is not plain in a text of XML: line feeds and printable ASCII except `<`,
/// `>` and `&`.
///
/// At least 32 zeros must follow the text: there is no length, and a zero is not plain.
///
/// \param feeds The number of line feeds among the plain bytes is added to it.
size_t atv_xml_plain(const uint8_t *bytes, size_t *feeds);

/// How often a byte occurs.
size_t atv_count(const uint8_t *bytes, size_t length, uint8_t wanted);

/// The offset after the last occurrence of a byte; 0 if there is none.
size_t atv_after_last(const uint8_t *bytes, size_t length, uint8_t wanted);

/// Has the memory at an address, which may be any, read into the caches while the program goes on.
static inline void atv_prefetch(const void *address) { __builtin_prefetch(address); }
