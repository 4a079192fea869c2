// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "f1298dd4547cd2ea0a0ecb32a3c2b0192b250733e46a213ced18256082704e6c"
