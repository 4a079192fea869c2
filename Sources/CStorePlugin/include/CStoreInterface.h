// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "e2725792cec0f4a8ff8474dc1fc2d3fddff0c6aaaee3d61c5e2777f059bc79d3"
