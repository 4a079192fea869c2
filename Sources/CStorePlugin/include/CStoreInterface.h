// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "29de668dcc4428e7fdc3b4ac4f877082998b7c705c16a65f8232fb793c0b2762"
