// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "9d647bb991682fd197dae8195e258237713b3a4fea76982e5968cb0ea9e2a3b6"
