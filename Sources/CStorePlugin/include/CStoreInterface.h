// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3a2e488ca278217bcb1e5de8937d9417c58f2e708bbab137dd4fc93ad2247986"
