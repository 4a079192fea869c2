// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "bc932e1b1e1ad98a1d3c82dcbd3c1978cb30f1cff805d70c28cc817a5b5f1d2a"
