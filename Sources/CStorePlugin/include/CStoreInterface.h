// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "985bea90df46509a13524fb0b35c143de01bf357e83ddd893b77572501426b20"
