#include "CStorePlugin.h"

// What the plug-in says of itself, read before it is asked for its formats.
ATOMICSTORE_PLUGIN("JSONLines")
