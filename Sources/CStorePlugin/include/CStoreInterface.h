// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "feb1ef1136541e000b658d978c9c0c4715c50e2202979bdbc6d8323cab5321c5"
