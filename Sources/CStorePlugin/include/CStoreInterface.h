// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "2979bc97f3069a1afac0879cdb900e4c97e37bbb533c51660c1df4b631fdb2c8"
