#define _GNU_SOURCE
#include "PagedMemory.h"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

// Pages are of four kilobytes here, whatever the system's are: a block is a number of them.
#define PAGE ((size_t)4096)
#define LARGE_PAGE ((size_t)2 << 20)
#define AREA_BYTES ((size_t)64 << 20)
#define AREA_PAGES ((uint32_t)(AREA_BYTES / PAGE))
#define LEAST_BLOCK ((size_t)256 << 10)
// Greater blocks have their own area, which the system can move instead of copying it.
#define GREATEST_PART ((size_t)4 << 20)
// How much of malloc's heap is in large pages, and the greatest blocks there: malloc's own greatest limit.
#define HEAP_BYTES (256 << 20)
#define GREATEST_IN_HEAP (32 << 20)
// How much is freed before free memory is given back: an eighth of what is used, within these limits.
#define LEAST_KEPT ((size_t)8 << 20)
#define GREATEST_KEPT ((size_t)64 << 20)

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PLAIN_MEMORY 1
#endif
#endif

bool asf_paged_has_room(size_t bytes) {
  if (bytes < LEAST_BLOCK) return true;
  // As malloc would ask for it.
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

#ifdef PLAIN_MEMORY
// Sanitizers know the borders of malloc's blocks only.
void *asf_paged_resize(void *block, size_t bytes) { return realloc(block, bytes > 0 ? bytes : 1); }
void *asf_paged_zeroed(size_t bytes) { return calloc(bytes > 0 ? bytes : 1, 1); }
void asf_paged_free(void *block) { free(block); }
void asf_paged_advise(void *start, size_t bytes, bool is_large) {}
void asf_paged_trim(void) {}
void asf_trim_all(void) { malloc_trim(0); }
size_t asf_paged_size(void) { return 0; }
void asf_paged_heap(void) {}
int asf_paged_move(void *block, size_t used, void *other, size_t bytes) { return 0; }
#else

/// A run of pages: a block, or free. Its first and its last page have the number of its pages, for a search in both directions.
struct run {
  uint32_t pages;
  uint32_t is_used;
};

struct area {
  struct area *next;
  char *base;
  /// The bytes of the only block of a separate area; 0 where runs share it.
  size_t own_bytes;
  uint32_t used_pages;
  /// By page: valid for the first and the last page of a run.
  struct run runs[];
};

static struct area *areas;
/// Those of blocks, and those that were freed since the last time that free memory was given back.
static size_t used_bytes, freed_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void take_lock(void) { pthread_mutex_lock(&lock); }
static void release_lock(void) { pthread_mutex_unlock(&lock); }
// A child of a fork has one thread, and must not wait for another that had the lock.
static void prepare(void) { pthread_atfork(take_lock, release_lock, release_lock); }

static size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Addresses from the start of a large page on, for whole ones.
static char *mapped(size_t bytes) {
  size_t reserved = bytes + LARGE_PAGE;
  if (reserved < bytes) return NULL;
  char *memory = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  size_t before = (LARGE_PAGE - (uintptr_t)memory % LARGE_PAGE) % LARGE_PAGE;
  if (before > 0) munmap(memory, before);
  if (LARGE_PAGE - before > 0) munmap(memory + before + bytes, LARGE_PAGE - before);
  madvise(memory + before, bytes, MADV_HUGEPAGE);
  return memory + before;
}

/// The pages of an area with more after them, where they are or at other addresses. Null, with nothing changed, if that is not possible.
static char *grown(char *base, size_t old, size_t new) {
  char *moved = mremap(base, old, new, 0);
  if (moved != MAP_FAILED) return moved;
  // Pages of other areas were moved to this one.
  if (errno == EFAULT) return NULL;
  // Moved to where the system would put them, large pages would be taken apart.
  char *target = mapped(new);
  if (target != NULL) {
    moved = mremap(base, old, new, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    if (moved != MAP_FAILED) return moved;
    // Only without memory for the system's own lists. Whether the addresses are still ours is unknown then; nothing is in them.
  }
  moved = mremap(base, old, new, MREMAP_MAYMOVE);
  return moved != MAP_FAILED ? moved : NULL;
}

static void set_run(struct area *area, uint32_t start, uint32_t pages, uint32_t is_used) {
  struct run run = {pages, is_used};
  area->runs[start] = run;
  area->runs[start + pages - 1] = run;
}

static size_t area_length(const struct area *area) {
  return area->own_bytes > 0 ? rounded(area->own_bytes, LARGE_PAGE) : AREA_BYTES;
}

static struct area *area_of(const void *block) {
  for (struct area *area = areas; area != NULL; area = area->next) {
    if ((const char *)block >= area->base && (const char *)block < area->base + area_length(area)) return area;
  }
  return NULL;
}

static struct area *add_area(size_t own_bytes) {
  size_t room = sizeof(struct area) + (own_bytes > 0 ? 0 : AREA_PAGES * sizeof(struct run));
  struct area *area = calloc(1, room);
  if (area == NULL) return NULL;
  area->base = mapped(own_bytes > 0 ? rounded(own_bytes, LARGE_PAGE) : AREA_BYTES);
  if (area->base == NULL) {
    free(area);
    return NULL;
  }
  area->own_bytes = own_bytes;
  if (own_bytes == 0) set_run(area, 0, AREA_PAGES, 0);
  area->next = areas;
  areas = area;
  return area;
}

static void forget_area(struct area *area) {
  struct area **link = &areas;
  while (*link != area) link = &(*link)->next;
  *link = area->next;
  free(area);
}

static void remove_area(struct area *area) {
  munmap(area->base, area_length(area));
  forget_area(area);
}

/// Makes the first pages of a free run a block.
static void use_run(struct area *area, uint32_t start, uint32_t pages) {
  struct run run = area->runs[start];
  if (run.pages > pages) set_run(area, start + pages, run.pages - pages, 0);
  set_run(area, start, pages, 1);
  area->used_pages += pages;
  used_bytes += pages * PAGE;
}

/// Makes a block, or the end of one, free.
static void free_run(struct area *area, uint32_t start, uint32_t pages) {
  area->used_pages -= pages;
  used_bytes -= pages * PAGE;
  freed_bytes += pages * PAGE;
  uint32_t after = start + pages;
  if (after < AREA_PAGES && !area->runs[after].is_used) pages += area->runs[after].pages;
  if (start > 0 && !area->runs[start - 1].is_used) {
    uint32_t before = area->runs[start - 1].pages;
    start -= before;
    pages += before;
  }
  set_run(area, start, pages, 0);
}

/// Gives free memory back: whole large pages only, since the parts of one would be written to as small pages later.
static void clean(struct area *area) {
  for (uint32_t page = 0; page < AREA_PAGES; page += area->runs[page].pages) {
    if (area->runs[page].is_used) continue;
    size_t start = rounded(page * PAGE, LARGE_PAGE);
    size_t end = (page + area->runs[page].pages) * PAGE / LARGE_PAGE * LARGE_PAGE;
    if (start < end) madvise(area->base + start, end - start, MADV_DONTNEED);
  }
}

static void clean_all(void) {
  for (struct area *area = areas; area != NULL; area = area->next) {
    if (area->own_bytes == 0) clean(area);
  }
  freed_bytes = 0;
}

/// The first free run that is long enough: what was written to before is mostly before what was not.
static void *find(uint32_t pages) {
  for (struct area *area = areas; area != NULL; area = area->next) {
    if (area->own_bytes > 0 || AREA_PAGES - area->used_pages < pages) continue;
    for (uint32_t page = 0; page < AREA_PAGES; page += area->runs[page].pages) {
      if (area->runs[page].is_used || area->runs[page].pages < pages) continue;
      use_run(area, page, pages);
      return area->base + page * PAGE;
    }
  }
  return NULL;
}

static void *allocate_large(size_t bytes) {
  if (bytes > GREATEST_PART) {
    struct area *area = add_area(bytes);
    if (area == NULL) return NULL;
    used_bytes += area_length(area);
    return area->base;
  }
  uint32_t pages = (uint32_t)(rounded(bytes, PAGE) / PAGE);
  void *block = find(pages);
  if (block != NULL) return block;
  return add_area(0) == NULL ? NULL : find(pages);
}

/// An area takes more addresses than its blocks: where these are limited, there may be room for a block of malloc's.
static void *allocate(size_t bytes) {
  void *block = bytes < LEAST_BLOCK ? NULL : allocate_large(bytes);
  return block != NULL ? block : malloc(bytes > 0 ? bytes : 1);
}

static int keeps_too_much(void) {
  size_t kept = used_bytes / 8;
  if (kept < LEAST_KEPT) kept = LEAST_KEPT;
  return freed_bytes > (kept < GREATEST_KEPT ? kept : GREATEST_KEPT);
}

static void release(struct area *area, void *block) {
  if (area->own_bytes > 0) {
    used_bytes -= area_length(area);
    remove_area(area);
    return;
  }
  uint32_t page = (uint32_t)(((char *)block - area->base) / PAGE);
  free_run(area, page, area->runs[page].pages);
  if (area->used_pages == 0) remove_area(area);
  else if (keeps_too_much()) clean_all();
}

/// Changes the size of a block in its place, or moves its own area. Null if that is not possible.
static void *resized_in_place(struct area *area, void *block, size_t bytes) {
  if (area->own_bytes > 0) {
    // A block that becomes a little shorter is not copied for it.
    if (bytes <= GREATEST_PART / 2) return NULL;
    size_t old = area_length(area), new = rounded(bytes, LARGE_PAGE);
    if (new > old) {
      char *moved = grown(area->base, old, new);
      if (moved == NULL) return NULL;
      area->base = moved;
    } else if (new < old) {
      munmap(area->base + new, old - new);
    }
    used_bytes += new - old;
    // The end of the last large page takes no memory if it is not used.
    if (new <= old && bytes < area->own_bytes) {
      size_t end = rounded(bytes, PAGE);
      if (end < new) madvise(area->base + end, new - end, MADV_DONTNEED);
    }
    area->own_bytes = bytes;
    return area->base;
  }
  if (bytes > GREATEST_PART || bytes < LEAST_BLOCK) return NULL;
  uint32_t page = (uint32_t)(((char *)block - area->base) / PAGE);
  uint32_t old = area->runs[page].pages, pages = (uint32_t)(rounded(bytes, PAGE) / PAGE);
  if (pages < old) {
    set_run(area, page, pages, 1);
    free_run(area, page + pages, old - pages);
  } else if (pages > old) {
    uint32_t after = page + old;
    if (after >= AREA_PAGES || area->runs[after].is_used || area->runs[after].pages < pages - old) return NULL;
    use_run(area, after, pages - old);
    set_run(area, page, pages, 1);
  }
  return block;
}

static size_t block_size(struct area *area, const void *block) {
  if (area->own_bytes > 0) return area->own_bytes;
  return area->runs[((const char *)block - area->base) / PAGE].pages * PAGE;
}

void *asf_paged_resize(void *block, size_t bytes) {
  if (block == NULL && bytes < LEAST_BLOCK) return malloc(bytes > 0 ? bytes : 1);
  pthread_once(&once, prepare);
  take_lock();
  struct area *area = block == NULL ? NULL : area_of(block);
  if (area == NULL && bytes < LEAST_BLOCK) {
    release_lock();
    return realloc(block, bytes > 0 ? bytes : 1);
  }
  void *result = area == NULL ? NULL : resized_in_place(area, block, bytes);
  if (result == NULL) {
    size_t old = area != NULL ? block_size(area, block) : block == NULL ? 0 : malloc_usable_size(block);
    result = allocate(bytes);
    if (result != NULL && block != NULL) {
      // Both blocks are the caller's: other threads may go on meanwhile.
      release_lock();
      memcpy(result, block, old < bytes ? old : bytes);
      take_lock();
      if (area != NULL) release(area, block);
      else free(block);
    }
  }
  release_lock();
  return result;
}

void *asf_paged_zeroed(size_t bytes) {
  if (bytes < LEAST_BLOCK) return calloc(bytes > 0 ? bytes : 1, 1);
  pthread_once(&once, prepare);
  take_lock();
  // Pages that were never used are zero: not those of an area that is shared.
  struct area *area = add_area(bytes);
  if (area != NULL) used_bytes += area_length(area);
  release_lock();
  if (area == NULL) return calloc(bytes, 1);
  madvise(area->base, area_length(area), MADV_NOHUGEPAGE);
  return area->base;
}

void asf_paged_free(void *block) {
  if (block == NULL) return;
  pthread_once(&once, prepare);
  take_lock();
  struct area *area = area_of(block);
  if (area != NULL) release(area, block);
  release_lock();
  if (area == NULL) free(block);
}

void asf_paged_advise(void *start, size_t bytes, bool is_large) {
  if (bytes < LARGE_PAGE) return;
  size_t before = (LARGE_PAGE - (uintptr_t)start % LARGE_PAGE) % LARGE_PAGE;
  size_t whole = (bytes - before) / LARGE_PAGE * LARGE_PAGE;
  if (whole > 0) madvise((char *)start + before, whole, is_large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

/// Puts the first pages of a block with a separate area into that of another one, instead of the pages that are there
/// from `start` on, and releases the rest of the area. Not if there is too little room, or the system refuses.
static int move_pages(struct area *area, size_t start, struct area *source, size_t length) {
  char *target = area->base + start;
  if (mremap(source->base, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, target) == MAP_FAILED) {
    // The target may have been unmapped before the failure. Nothing is in it, but it must be ours again; and no one else's.
    void *again = mmap(target, length, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    // It was not unmapped: most failures are found before.
    if (again == MAP_FAILED && errno == EEXIST) return 0;
    // Only without memory for the system's own list of mappings: as in Swift's allocation, the program ends.
    if (again != target) abort();
    madvise(target, length, MADV_HUGEPAGE);
    return 0;
  }
  const size_t rest = area_length(source) - length;
  used_bytes -= area_length(source);
  if (rest > 0) munmap(source->base + length, rest);
  forget_area(source);
  return 1;
}

int asf_paged_move(void *block, size_t used, void *other, size_t bytes) {
  take_lock();
  struct area *area = area_of(block), *source = area_of(other);
  const size_t start = rounded(used, LARGE_PAGE), length = rounded(bytes, LARGE_PAGE);
  int moved = area != NULL && source != NULL && area != source && area->own_bytes > 0 && source->own_bytes > 0 && bytes > 0
    && used + bytes <= area->own_bytes && bytes <= source->own_bytes && start + length <= area_length(area)
    && move_pages(area, start, source, length);
  release_lock();
  // The block is the caller's: other threads may go on meanwhile.
  if (moved && start > used) memmove((char *)block + used, (char *)block + start, bytes);
  return moved;
}

void asf_paged_trim(void) {
  take_lock();
  if (freed_bytes > LARGE_PAGE) clean_all();
  release_lock();
}

void asf_trim_all(void) {
  asf_paged_trim();
  malloc_trim(0);
}

void asf_paged_heap(void) {
  struct rlimit limit;
  // Where addresses are limited, they are for what is used.
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return;
  // A block that malloc takes from the end of its heap, and which stays there when it is freed.
  if (!mallopt(M_MMAP_THRESHOLD, 2 * HEAP_BYTES) || !mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BYTES)) return;
  char *block = malloc(HEAP_BYTES);
  if (block != NULL) {
    size_t before = (LARGE_PAGE - (uintptr_t)block % LARGE_PAGE) % LARGE_PAGE;
    madvise(block + before, HEAP_BYTES - LARGE_PAGE, MADV_HUGEPAGE);
    free(block);
  }
  // As without this: greater blocks are given back at once.
  mallopt(M_MMAP_THRESHOLD, GREATEST_IN_HEAP);
}

size_t asf_paged_size(void) {
  take_lock();
  size_t used = used_bytes;
  release_lock();
  return used;
}
#endif
