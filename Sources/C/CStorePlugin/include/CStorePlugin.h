#ifndef CSTOREPLUGIN_H
#define CSTOREPLUGIN_H

#include <stddef.h>
#include <stdint.h>

// Not for Swift, which reads the digest through asp_host: a new digest would recompile every module.
#ifndef __swift__
#include "CStoreInterface.h"
#endif

/// What a plug-in says of itself, as an ELF note: it is read from the file, before any of the plug-in's code runs.
///
/// The values are those that the plug-in was *built* with, since the macro below is expanded in the plug-in.

/// Counts changes after which a plug-in must be built again. Bumped by hand with every change to this file or to how plug-ins are loaded.
#define ASP_MAJOR 3
/// Counts additions that older plug-ins do not mind.
#define ASP_MINOR 0
/// The kit's version: the one place where it is written. Swift reads it as StorePlugin.kitVersion.
#define ASP_KIT_VERSION "0.3.0"

/// The note: its owner, its type, and the sizes of its texts, each of which ends with a NUL.
#define ASP_NOTE_OWNER "AtomicStoreKit"
#define ASP_NOTE_TYPE 2
#define ASP_NAME_SIZE 64
#define ASP_KIT_SIZE 32
#define ASP_COMPILER_SIZE 256
#define ASP_INTERFACE_SIZE 68

typedef struct {
  uint32_t ownerSize;
  uint32_t size;
  uint32_t type;
  char owner[16];
  // The description begins here.
  uint16_t major;
  uint16_t minor;
  char name[ASP_NAME_SIZE];
  char kit[ASP_KIT_SIZE];
  char compiler[ASP_COMPILER_SIZE];
  /// The digest of the interface's sources: see CStoreInterface.h.
  char interface[ASP_INTERFACE_SIZE];
} asp_note;

#define ASP_NOTE_SIZE (4 + ASP_NAME_SIZE + ASP_KIT_SIZE + ASP_COMPILER_SIZE + ASP_INTERFACE_SIZE)

/// What the plug-in was *bound* to when it was loaded: the kit, and the Swift runtime.
typedef struct {
  const void *_Nonnull kitIdentity;
  const void *_Nonnull swiftRuntime;
} asp_binding;

extern const char atomicstore_kit_identity;
/// The type metadata of Swift's Int: there is one in each copy of the runtime.
extern const char asp_swift_runtime __asm__("$sSiN");

/// The parts of the macro below, one by one: for tests of plug-ins that do not fit.
#define ASP_DECLARE_NOTE(NAME, KIT, COMPILER, MAJOR, MINOR, INTERFACE)                                                 \
  __attribute__((section(".note.atomicstorekit.plugin"), used, aligned(4))) static const asp_note asp_plugin_note = { \
      sizeof(ASP_NOTE_OWNER), ASP_NOTE_SIZE, ASP_NOTE_TYPE, ASP_NOTE_OWNER, MAJOR, MINOR, NAME, KIT, COMPILER, INTERFACE};
#define ASP_DECLARE_BINDING(KIT_IDENTITY, SWIFT_RUNTIME)                                                               \
  __attribute__((visibility("default"), used)) const asp_binding atomicstore_plugin_binding_v1 = {KIT_IDENTITY, SWIFT_RUNTIME};

/// In a C file of the plug-in: `ATOMICSTORE_PLUGIN("JSONLines")`. The name has at most 63 bytes.
#define ATOMICSTORE_PLUGIN(NAME)                                                                                       \
  _Static_assert(sizeof(NAME) <= ASP_NAME_SIZE && sizeof(__VERSION__) <= ASP_COMPILER_SIZE, "the name is too long");  \
  ASP_DECLARE_NOTE(NAME, ASP_KIT_VERSION, __VERSION__, ASP_MAJOR, ASP_MINOR, ASP_INTERFACE)                            \
  ASP_DECLARE_BINDING(&atomicstore_kit_identity, &asp_swift_runtime)

/// What this program has where a plug-in has its note and its binding.
typedef struct {
  uint16_t major;
  uint16_t minor;
  const char *_Nonnull kit;
  const char *_Nonnull compiler;
  const char *_Nonnull interface;
  asp_binding binding;
} asp_host_info;

asp_host_info asp_host(void);

/// What a symbol of Swift stands for, to be freed; a null pointer for any other symbol.
char *_Nullable asp_demangled(const char *_Nonnull symbol);

/// From here on, a message on standard error names a plug-in if a signal that its code caused (a trap, an access to memory that is not there,
/// `abort`) ends the process. Signals of the main thread's overflown stack are among them.
///
/// Parameters: its path, whose control characters are replaced, and an address of one of its symbols. It stays loaded.
void asp_guard(const char *_Nonnull path, const void *_Nonnull symbol);
/// The path of a plug-in whose code is at an address, or in a frame of a stack: a null pointer if there is none. It may be called by a signal's handler.
const char *_Nullable asp_plugin_calling(uintptr_t address, uintptr_t frame, uintptr_t stack);
/// Writes to standard error which plug-in ended the program, and how.
void asp_blame(const char *_Nonnull path, const char *_Nonnull how, int number);

/// Marks this copy of the kit as used, and looks for another copy in this process that is used too.
///
/// Returns 1 and the path of the program or library that contains it, cut to `capacity` bytes; 0 if there is none.
int asp_find_other_copy(char *_Nonnull path, size_t capacity);

/// The path of the program or library that contains this copy, cut to `capacity` bytes; empty if it is not known.
void asp_path_of_this_copy(char *_Nonnull path, size_t capacity);

#endif
