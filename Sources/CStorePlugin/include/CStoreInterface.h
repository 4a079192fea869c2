// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "63f4e32340b675f8993ddfd8d5678e50645808e876394a0fd2a8367fddadcd88"
