// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "f2609125a662692f5b62aaa281a9b94bf3d4039dd22a683d2da2a1177b854713"
