// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "1aad3fa8145b5fe2fb8ff4c01dcfd0ed55dc7a623b645009f6b112765fcafda3"
