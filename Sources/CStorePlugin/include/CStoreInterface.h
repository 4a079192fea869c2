// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "dde10efdc4abd642b409904b90400033c5883d75a0cfb9524a1165a584982281"
