// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3411c90387136d93f2bc02a5c5e53e279c3d506295ac2961aa3841fbd26d1f4f"
