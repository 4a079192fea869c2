// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "19d0db6dfab829078dd62f375e78e3ce06f92a4dc9d9e7a7619292ad6d137e75"
