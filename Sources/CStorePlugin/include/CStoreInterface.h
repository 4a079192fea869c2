// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "f3cbcd36312a0b56a652ba8d228a863ddbb4c6a262d77f5b0ae2cf96821c5381"
