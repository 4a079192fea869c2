// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "fe21d0c66aa0c04e44ca95cd8569c37d1f853028ece2b4d6b94c9c4e398a6935"
