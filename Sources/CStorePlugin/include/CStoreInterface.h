// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "9f279c7fe932cd9df699b273e32e3fe9887948683f3d7fa7e3bf4f4ebf58973d"
