// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "14bc333553f8805fad7b0380227b4e5097437f9c611068fc11f50720afef0af7"
