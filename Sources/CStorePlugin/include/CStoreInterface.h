// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "a47f00e3b2f00048b0a8e4fec15efdd3844b84f3ff878fda7b23e131c7c16c16"
