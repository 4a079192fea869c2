// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "091fd0be26d0a05ff391cbb5eed22903d4a52bf79a10866c03f12f068541a85c"
