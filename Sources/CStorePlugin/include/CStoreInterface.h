// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "f2fecb20fd5a0c8eb9e63e02a8264dbe2be946fe909106af08a8f7cf8c343b86"
