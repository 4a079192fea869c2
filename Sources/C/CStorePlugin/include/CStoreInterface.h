// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "bd58bf2f2c90830bd6832a3d702d87f8cec1ea61ba829031c9b86d9b661138cc"
