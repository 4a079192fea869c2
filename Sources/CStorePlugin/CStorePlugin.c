#define _GNU_SOURCE
#include "CStorePlugin.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/// Protected, as all symbols of Swift are: a copy of the kit that is linked into a library refers to its own definitions, although the
/// program exports symbols of the same names.
#define PROTECTED __attribute__((visibility("protected")))

PROTECTED __attribute__((used)) const char atomicstore_kit_identity = 1;

PROTECTED asp_info asp_host(void) {
  asp_info info = {ASP_MAGIC, sizeof(asp_info), ASP_MAJOR, ASP_MINOR, "host", ASP_KIT_VERSION, __VERSION__,
                   &atomicstore_kit_identity, &asp_swift_runtime};
  return info;
}

/// Whether this copy of the kit has been used. A copy that was only loaded does no harm: a plug-in's dynamic library brings one, and everything
/// in the plug-in is bound to the program's.
__attribute__((visibility("hidden"), used)) _Atomic uint32_t asp_is_used = 0;

/// A note in each program or library that contains the kit. The system maps it with the code and lists it in the program headers, so that one copy
/// finds the others without a symbol that they would share: the distance from here to `asp_is_used`.
#define NOTE_NAME "AtomicStoreKit"
#define NOTE_TYPE 1
__asm__(".pushsection .note.atomicstorekit, \"a\", %note\n"
        "  .balign 4\n"
        "  .long 15, 4, 1\n"
        "  .asciz \"" NOTE_NAME "\"\n"
        "  .balign 4\n"
        "  .long asp_is_used - .\n"
        ".popsection\n");

typedef struct {
  char *path;
  size_t capacity;
  int is_found;
} asp_search;

/// The flag that a note leads to; null where it is not one of the kit's.
static _Atomic uint32_t *asp_flag_of(const char *note, const ElfW(Nhdr) *header) {
  const char *name = note + sizeof(*header);
  if (header->n_type != NOTE_TYPE || header->n_namesz != sizeof(NOTE_NAME) || header->n_descsz != sizeof(int32_t)) return 0;
  if (memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)) != 0) return 0;
  const char *descriptor = name + ((sizeof(NOTE_NAME) + 3) & ~(size_t)3);
  int32_t distance;
  memcpy(&distance, descriptor, sizeof(distance));
  return (_Atomic uint32_t *)(descriptor + distance);
}

static int asp_visit(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size;
  asp_search *search = context;
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
    // Segments with another alignment hold notes of another layout, which are not the kit's.
    if (segment->p_type != PT_NOTE || segment->p_align > 4) continue;
    const char *note = (const char *)(object->dlpi_addr + segment->p_vaddr);
    const char *end = note + segment->p_memsz;
    while (end - note >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) header;
      memcpy(&header, note, sizeof(header));
      size_t length = sizeof(header) + (((size_t)header.n_namesz + 3) & ~(size_t)3) + (((size_t)header.n_descsz + 3) & ~(size_t)3);
      if (length > (size_t)(end - note)) break;
      _Atomic uint32_t *flag = asp_flag_of(note, &header);
      if (flag && flag != &asp_is_used && atomic_load(flag)) {
        const char *name = object->dlpi_name && object->dlpi_name[0] ? object->dlpi_name : "the program itself";
        strncpy(search->path, name, search->capacity - 1);
        search->path[search->capacity - 1] = 0;
        search->is_found = 1;
        return 1;
      }
      note += length;
    }
  }
  return 0;
}

PROTECTED int asp_find_other_copy(char *path, size_t capacity) {
  asp_search search = {path, capacity, 0};
  atomic_store(&asp_is_used, 1);
  dl_iterate_phdr(asp_visit, &search);
  return search.is_found;
}

PROTECTED void asp_path_of_this_copy(char *path, size_t capacity) {
  path[0] = 0;
  Dl_info info;
  if (dladdr(&atomicstore_kit_identity, &info) && info.dli_fname) {
    strncpy(path, info.dli_fname, capacity - 1);
    path[capacity - 1] = 0;
  }
}
