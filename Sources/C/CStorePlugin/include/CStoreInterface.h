// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "70de0c32da4ac9b528d38389879d9a090ab9ba295a1459b33348ef633f72994d"
