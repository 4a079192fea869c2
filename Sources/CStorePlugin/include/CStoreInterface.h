// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "f3ba7cc64a7a31866d6b1c4c6e139283bfc65ede87a0c445b7374900040cb300"
