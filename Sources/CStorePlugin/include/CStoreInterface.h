// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "e6b83581016296e685ee80618fa2cc9905c370693a833b0c95903e45120c761b"
