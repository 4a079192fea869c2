// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "bd577e71f9b14e477de69cbe265079cb476780a1969d4b2f6c13cc53bfbdbca1"
