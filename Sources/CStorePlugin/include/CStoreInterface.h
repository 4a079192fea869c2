// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "744dce57792d10292792a9bd309c5fbcd3d54a27371abe5cd30873fc9c3d1471"
