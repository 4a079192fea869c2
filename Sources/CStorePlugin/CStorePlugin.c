#include "CStorePlugin.h"

__attribute__((visibility("default"), used)) const char atomicstore_kit_identity = 1;

asp_info asp_host(void) {
  asp_info info = {ASP_MAGIC, sizeof(asp_info), ASP_MAJOR, ASP_MINOR, "host", ASP_KIT_VERSION, __VERSION__,
                   &atomicstore_kit_identity, &asp_swift_runtime};
  return info;
}
