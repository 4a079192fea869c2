// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "f0ca69591e05538d4731f3fcb8f5586862701614988f2b02b1e1b8b228f504bd"
