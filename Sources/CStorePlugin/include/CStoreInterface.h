// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "d44e22f2ac4d6db0cb30efc7e2106943d821003c6d7a98e52b38cc281eb95099"
