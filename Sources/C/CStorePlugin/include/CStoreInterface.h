// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "aa2c0b357595b2a2e85d96c92b4d01005dd597c12e86923856633aaf270722ad"
