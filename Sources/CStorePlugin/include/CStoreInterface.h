// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "31c98b62dbc6b490135512c9b099781c44a1f4d105f85c9c6e3abc198e04c8d4"
