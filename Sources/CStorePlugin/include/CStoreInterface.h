// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "7d6c86a48fea428e19868bfbe5d0bb3234d8c20fb2deab590cf4bd72e0e4d565"
