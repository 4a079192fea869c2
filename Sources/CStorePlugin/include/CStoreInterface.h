// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "778e54808a4eaee8a8fa28ce80317ee72ded7af0d5544c93ece09daa30990c8d"
