#ifndef CSTOREPLUGIN_H
#define CSTOREPLUGIN_H

#include <stddef.h>
#include <stdint.h>

/// What a plug-in says of itself, as plain data: it is read before the plug-in is asked for its formats (its constructors have run by then).
///
/// The values are those that the plug-in was *built* with, since the macro below is expanded in the plug-in; the addresses
/// are those that it was *bound* to when it was loaded. Both tell what would otherwise half work in silence.

#define ASP_MAGIC 0x41534b50u /* ASKP */
/// Counts changes after which a plug-in must be built again. Bumped by hand with every change to the SPI.
#define ASP_MAJOR 2
/// Counts additions that older plug-ins do not mind.
#define ASP_MINOR 0
/// The kit's version: the one place where it is written. Swift reads it as StorePlugin.kitVersion.
#define ASP_KIT_VERSION "0.2.0"

typedef struct {
  uint32_t magic;
  uint32_t size;
  uint16_t major;
  uint16_t minor;
  const char *_Nonnull name;
  const char *_Nonnull kit;
  const char *_Nonnull compiler;
  /// The kit that the plug-in was bound to, and the Swift runtime.
  const void *_Nonnull kitIdentity;
  const void *_Nonnull swiftRuntime;
} asp_info;

extern const char atomicstore_kit_identity;
/// The type metadata of Swift's Int: there is one in each copy of the runtime.
extern const char asp_swift_runtime __asm__("$sSiN");

/// In a C file of the plug-in: `ATOMICSTORE_PLUGIN("JSONLines")`.
#define ATOMICSTORE_PLUGIN(NAME)                                                                                       \
  __attribute__((visibility("default"), used)) const asp_info atomicstore_plugin_info_v1 = {                          \
      ASP_MAGIC, sizeof(asp_info), ASP_MAJOR, ASP_MINOR, NAME, ASP_KIT_VERSION, __VERSION__,                           \
      &atomicstore_kit_identity, &asp_swift_runtime};

/// The same of the program that loads.
asp_info asp_host(void);

/// Marks this copy of the kit as used, and looks for another copy in this process that is used too.
///
/// Returns 1 and the path of the program or library that contains it, cut to `capacity` bytes; 0 if there is none.
int asp_find_other_copy(char *_Nonnull path, size_t capacity);

/// The path of the program or library that contains this copy, cut to `capacity` bytes; empty if it is not known.
void asp_path_of_this_copy(char *_Nonnull path, size_t capacity);

#endif
