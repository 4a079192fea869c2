// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "35f90b719585956e9d2969a28a85966363f5c3d26280ac05f96c7a2fcbe35576"
