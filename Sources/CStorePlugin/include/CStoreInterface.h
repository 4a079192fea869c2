// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "784b6541c431ac86276db763f6e2a2629d0e0d530975c8d559a8c182ac60f65f"
