// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "5ed85375e4ef5dafc2fc97d6e87e91f9a77cd0b585f248dea9618daa7b206cb1"
