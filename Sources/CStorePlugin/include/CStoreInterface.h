// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "81a7ec115b2713f87990604cc5a5f931e747b4f42462903a1dbf8ef50100123e"
