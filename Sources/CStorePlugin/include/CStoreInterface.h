// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "9f6e68bfbe2f48596eac2fd7be15b5bea9afe0fd0c3450d13195c862e94857b1"
