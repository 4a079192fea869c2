#ifndef ATOMIC_STORE_KIT_PAGEDMEMORY_H
#define ATOMIC_STORE_KIT_PAGEDMEMORY_H
#include <stdbool.h>
#include <stddef.h>

/// Memory for columns. Blocks of 256 KB and more are parts of areas that begin at a large page, which the system is asked
/// to use for them: a first write to four kilobytes each takes six times as long. Smaller ones are malloc's.
///
/// Changes the size of a block, or makes one from null. What is beyond the old size is undefined. Null if there is not
/// enough memory; the block is unchanged then. Any thread may call this, also after a fork.
void *_Nullable asf_paged_resize(void *_Nullable block, size_t bytes);

/// Releases a block; null does nothing.
void asf_paged_free(void *_Nullable block);

/// Asks for large pages, or for small ones, for the whole large pages within a part of a block that is not used yet.
void asf_paged_advise(void *_Nullable start, size_t bytes, bool is_large);

/// Gives back to the system what is free within areas.
void asf_paged_trim(void);

/// The same, and what is free among malloc's blocks: takes milliseconds.
void asf_trim_all(void);

/// The bytes of all large blocks.
size_t asf_paged_size(void);
#endif
