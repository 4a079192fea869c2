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

/// Makes a block whose bytes are zero, in small pages: what is not written to takes no memory. Null if there is not enough
/// memory.
void *_Nullable asf_paged_zeroed(size_t bytes);

/// Releases a block; null does nothing.
void asf_paged_free(void *_Nullable block);

/// Asks for large pages, or for small ones, for the whole large pages within a part of a block that is not used yet.
void asf_paged_advise(void *_Nullable start, size_t bytes, bool is_large);

/// Moves the first bytes of a block to a place in another one, whose bytes from there on are not used. Both must be large,
/// and the other block needs room for them and a large page more: then pages are moved, which takes no memory, and bytes
/// only as far as the places of both within a page differ. Returns 1 if so, and the first block is gone; else 0, and
/// nothing was changed.
///
/// \param block The target.
/// \param used The place in it.
/// \param other The source.
int asf_paged_move(void *_Nonnull block, size_t used, void *_Nonnull other, size_t bytes);

/// Whether the system would provide a block of that size now. Small ones are always assumed to be there.
bool asf_paged_has_room(size_t bytes);

/// Gives back to the system what is free within areas.
void asf_paged_trim(void);

/// The same, and what is free among malloc's blocks: takes milliseconds.
void asf_trim_all(void);

/// Has the first 256 MB of malloc's heap in large pages, for a program that ends when its work is done: a first write to
/// four kilobytes each took up to a quarter of its time. Freed memory of the heap is kept. Call it once, at the start.
void asf_paged_heap(void);

/// The bytes of all large blocks.
size_t asf_paged_size(void);
#endif
