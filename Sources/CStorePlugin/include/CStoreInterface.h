// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "adff19a385af00ca17ae6cc938d93b9278fc0e86f5c4f336606e1e66f33b2d2e"
