// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "b823abbdae8cd29efedc3ab394cebaa19f55bcb4df05833ff75ee04bd0bc3d49"
