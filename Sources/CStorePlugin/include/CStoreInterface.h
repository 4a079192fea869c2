// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "205255899c030c8b253d5a6e6161aa4b378e2eb0092288f673dd5ed11cb4d995"
