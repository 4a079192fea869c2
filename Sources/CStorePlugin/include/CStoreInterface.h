// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "22674de4d38a6bca6420c84082633b60e46e57f109c146936450902ad7b10d89"
