// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "745f3c5fbd15ac0d6e072bc26fff55711b1e1ca6a12d7979d51d088f0b687115"
