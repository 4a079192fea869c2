#define _GNU_SOURCE
#include "CStorePlugin.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Protected, as all symbols of Swift are: a copy of the kit that is linked into a library refers to its own definitions, although the
/// program exports symbols of the same names.
#define PROTECTED __attribute__((visibility("protected")))

PROTECTED __attribute__((used)) const char atomicstore_kit_identity = 1;

_Static_assert(sizeof(asp_note) == 28 + ASP_NOTE_SIZE, "a note has no padding");

PROTECTED asp_host_info asp_host(void) {
  asp_host_info info = {ASP_MAJOR, ASP_MINOR, ASP_KIT_VERSION, __VERSION__, ASP_INTERFACE, {&atomicstore_kit_identity, &asp_swift_runtime}};
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

static const int asp_deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
#define ASP_DEADLY_COUNT (sizeof(asp_deadly) / sizeof(asp_deadly[0]))
static struct sigaction asp_previous[ASP_DEADLY_COUNT];
/// For a plug-in that overflows the stack: the handler needs another one.
static char asp_stack[32768];
static stack_t asp_previous_stack;
static char asp_last_words[4002];
static size_t asp_last_words_length;
/// 0: not watching. 1: being set up or taken down. 2: watching.
static _Atomic int asp_watch_state;
static _Atomic int asp_reports_exit;

static void asp_write_last_words(void) {
  size_t done = 0;
  while (done < asp_last_words_length) {
    ssize_t count = write(STDERR_FILENO, asp_last_words + done, asp_last_words_length - done);
    if (count <= 0) return;
    done += (size_t)count;
  }
}

static void asp_died(int number) {
  asp_write_last_words();
  signal(number, SIG_DFL);
  raise(number);
}

static void asp_exited(void) {
  if (atomic_load(&asp_watch_state) == 2) asp_write_last_words();
}

PROTECTED int asp_watch(const char *message) {
  int idle = 0;
  if (!atomic_compare_exchange_strong(&asp_watch_state, &idle, 1)) return 0;
  size_t length = 0;
  for (; message[length] && length < sizeof(asp_last_words) - 2; length++) {
    unsigned char byte = (unsigned char)message[length];
    asp_last_words[length] = byte < ' ' || byte == 127 ? '?' : (char)byte;
  }
  asp_last_words[length++] = '\n';
  asp_last_words_length = length;
  stack_t stack = {.ss_sp = asp_stack, .ss_size = sizeof(asp_stack)};
  sigaltstack(&stack, &asp_previous_stack);
  struct sigaction action = {.sa_handler = asp_died, .sa_flags = SA_ONSTACK | SA_NODEFER};
  for (size_t index = 0; index < ASP_DEADLY_COUNT; index++) sigaction(asp_deadly[index], &action, &asp_previous[index]);
  // Not for every program that loads the kit: only for one that loads plug-ins.
  if (!atomic_exchange(&asp_reports_exit, 1)) atexit(asp_exited);
  atomic_store(&asp_watch_state, 2);
  return 1;
}

PROTECTED void asp_stop_watching(void) {
  atomic_store(&asp_watch_state, 1);
  for (size_t index = 0; index < ASP_DEADLY_COUNT; index++) sigaction(asp_deadly[index], &asp_previous[index], 0);
  sigaltstack(&asp_previous_stack, 0);
  atomic_store(&asp_watch_state, 0);
}

/// Exported by the Swift runtime.
char *swift_demangle(const char *symbol, size_t length, char *buffer, size_t *size, uint32_t flags);

PROTECTED char *asp_demangled(const char *symbol) { return swift_demangle(symbol, strlen(symbol), 0, 0, 0); }
