// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "7d033cac39e4508a1d4906f6fec1d4876196f066aba2eb98ef12d33eb649f5b0"
