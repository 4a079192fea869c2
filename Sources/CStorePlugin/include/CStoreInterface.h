// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "e3e4ebd0328333cfa63a11574db2fdc0e760306a527c9f6e17e3b10e044ea961"
