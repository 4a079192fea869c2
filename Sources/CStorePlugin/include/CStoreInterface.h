// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "8e0b2e6f4acd8dd426c60ef7a1d9bae6ffbbaca5d825ad2eefac6ab4f7306ae6"
