// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "1df2b4a55a6e7cc6a0fa21d3b341841bcc92cc14c98bcb6045d75dfeb3d5a049"
