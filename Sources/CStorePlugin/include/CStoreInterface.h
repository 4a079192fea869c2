// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "5ef8ce1dd9bde3d83d718ca9abe8a7e629796d02a162370554d0d141a3c74156"
