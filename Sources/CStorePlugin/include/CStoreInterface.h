// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "bba6ec0c5d2fb18e63ec86406d3883c30df92bc2c1683b61812fa26cd2283883"
