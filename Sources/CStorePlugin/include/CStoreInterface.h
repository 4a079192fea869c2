// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "44c8d17bcb541ae8fa8673a4ad771cb085982a80a4c4d248421784eb4fbd7777"
