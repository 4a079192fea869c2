// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "2176b9194a8615fd5c291b86b5d33bf175bf70b40fddd4f7484c7b45ed544dfb"
