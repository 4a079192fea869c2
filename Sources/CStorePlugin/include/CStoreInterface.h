// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "8f169ce439fe98a90e445c69389c8a07082ade374d9fc31d245762b6f8361945"
