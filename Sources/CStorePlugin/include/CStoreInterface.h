// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "115ea160c3f7b39b6e74be193faa18cee3ffe0ac2952df67bfb442e0b59d01ea"
