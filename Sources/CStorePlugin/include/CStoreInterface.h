// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "68fbdf214db0be74f96fabdd6b69d145195da6899ebf641651b313b91d6e5aa8"
