// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "34d11e000d7392d5dd06a034e0dcc6aa985ddfc7720b4ef9b9f86f7b13bc71a3"
