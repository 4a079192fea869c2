#include "CStorePlugin.h"

// What the plug-in says of itself before any of its code runs.
ATOMICSTORE_PLUGIN("JSONLines")
