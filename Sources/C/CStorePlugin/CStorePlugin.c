#define _GNU_SOURCE
#include "CStorePlugin.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
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

/// The code of the plug-ins. Entries are only added, each before the count says that it is there.
static struct {
  uintptr_t start, end;
  char *path;
} asp_plugins[64];
static _Atomic int asp_plugin_count;

static const char *asp_plugin_at(uintptr_t address) {
  int count = atomic_load(&asp_plugin_count);
  for (int index = 0; index < count; index++)
    if (address >= asp_plugins[index].start && address < asp_plugins[index].end) return asp_plugins[index].path;
  return 0;
}

/// Reads this process's memory, which need not be there.
static size_t asp_read(uintptr_t address, uintptr_t *words, size_t count) {
  struct iovec to = {words, count * sizeof(*words)}, from = {(void *)address, count * sizeof(*words)};
  ssize_t length = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  return length > 0 ? (size_t)length / sizeof(*words) : 0;
}

PROTECTED const char *asp_plugin_calling(uintptr_t address, uintptr_t frame, uintptr_t stack) {
  if (atomic_load(&asp_plugin_count) == 0) return 0;
  const char *path = asp_plugin_at(address);
  uintptr_t words[64];
  for (int depth = 0; !path && depth < 256 && asp_read(frame, words, 2) == 2; depth++) {
    path = asp_plugin_at(words[1]);
    if (words[0] <= frame) break;
    frame = words[0];
  }
  // C libraries keep no frame pointers: one of theirs may end the chain.
  for (int piece = 0; !path && piece < 16; piece++) {
    size_t count = asp_read(stack + (uintptr_t)piece * sizeof(words), words, 64);
    for (size_t index = 0; !path && index < count; index++) path = asp_plugin_at(words[index]);
    if (count < 64) break;
  }
  return path;
}

static void asp_say(const char *text) {
  size_t length = strlen(text);
  while (length > 0) {
    ssize_t count = write(STDERR_FILENO, text, length);
    if (count <= 0) return;
    text += count;
    length -= (size_t)count;
  }
}

PROTECTED void asp_blame(const char *path, const char *how, int number) {
  char digits[12];
  size_t start = sizeof(digits) - 1;
  digits[start] = 0;
  unsigned int rest = number < 0 ? -(unsigned int)number : (unsigned int)number;
  do digits[--start] = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (number < 0) digits[--start] = '-';
  asp_say("atomicstore: the plug-in ");
  asp_say(path);
  asp_say(" ended this program, by ");
  asp_say(how);
  asp_say(digits + start);
  asp_say("\n");
}

static void asp_died(int number, siginfo_t *info, void *context) {
  const ucontext_t *state = context;
#if defined(__x86_64__)
  uintptr_t address = (uintptr_t)state->uc_mcontext.gregs[REG_RIP], frame = (uintptr_t)state->uc_mcontext.gregs[REG_RBP],
            stack = (uintptr_t)state->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
  uintptr_t address = state->uc_mcontext.pc, frame = state->uc_mcontext.regs[29], stack = state->uc_mcontext.sp;
#else
  uintptr_t address = 0, frame = 0, stack = 0;
#endif
  const char *path = asp_plugin_calling(address, frame, stack);
  if (path) asp_blame(path, "signal ", number);
  for (size_t index = 0; index < ASP_DEADLY_COUNT; index++)
    if (asp_deadly[index] == number) sigaction(number, &asp_previous[index], 0);
  // What the processor reported happens once more after the return.
  if (info->si_code <= 0) raise(number);
}

/// Finds the code of the object that contains an address.
static int asp_find_code(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size;
  uintptr_t *range = context;
  uintptr_t start = UINTPTR_MAX, end = 0;
  int contains = 0;
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
    if (segment->p_type != PT_LOAD) continue;
    uintptr_t first = object->dlpi_addr + segment->p_vaddr, last = first + segment->p_memsz;
    if (range[0] >= first && range[0] < last) contains = 1;
    if (!(segment->p_flags & PF_X)) continue;
    if (first < start) start = first;
    if (last > end) end = last;
  }
  if (!contains) return 0;
  range[0] = start;
  range[1] = end;
  return 1;
}

PROTECTED void asp_guard(const char *path, const void *symbol) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  uintptr_t range[2] = {(uintptr_t)symbol, 0};
  if (!dl_iterate_phdr(asp_find_code, range)) return;
  pthread_mutex_lock(&mutex);
  int count = atomic_load(&asp_plugin_count);
  if (count < (int)(sizeof(asp_plugins) / sizeof(asp_plugins[0])) && !asp_plugin_at(range[0])) {
    char *name = strdup(path);
    for (char *byte = name; byte && *byte; byte++)
      if ((unsigned char)*byte < ' ' || *byte == 127) *byte = '?';
    if (name) {
      asp_plugins[count].start = range[0];
      asp_plugins[count].end = range[1];
      asp_plugins[count].path = name;
      atomic_store(&asp_plugin_count, count + 1);
    }
    if (count == 0) {
      stack_t stack = {.ss_sp = asp_stack, .ss_size = sizeof(asp_stack)}, before;
      if (sigaltstack(0, &before) == 0 && before.ss_flags & SS_DISABLE) sigaltstack(&stack, 0);
      struct sigaction action = {.sa_sigaction = asp_died, .sa_flags = SA_ONSTACK | SA_SIGINFO};
      for (size_t index = 0; index < ASP_DEADLY_COUNT; index++) sigaction(asp_deadly[index], &action, &asp_previous[index]);
    }
  }
  pthread_mutex_unlock(&mutex);
}

/// Exported by the Swift runtime.
char *swift_demangle(const char *symbol, size_t length, char *buffer, size_t *size, uint32_t flags);

PROTECTED char *asp_demangled(const char *symbol) { return swift_demangle(symbol, strlen(symbol), 0, 0, 0); }
