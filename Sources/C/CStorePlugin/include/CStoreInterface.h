// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "938a20901b2bb4febc546bd575b95f5bf92f26cd7df559d2a83d0e28f6ce0214"
