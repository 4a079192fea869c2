// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "beafef672a6247e0893c54ec1b8fa278066976d84aaa5f53360130a5f4f7d47a"
