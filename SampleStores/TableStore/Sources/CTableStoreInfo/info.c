#include "CStorePlugin.h"

// What the plug-in says of itself, read from its file before it is loaded.
ATOMICSTORE_PLUGIN("Tables")
