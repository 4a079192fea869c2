// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "09ee3c3583cc6ebe5484bd377947e448c6c8c47c6a9fd0e85cbf5a0a5586b168"
