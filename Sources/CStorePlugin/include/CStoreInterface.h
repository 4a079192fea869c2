// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "4d5d5ad944c4169c233c9be786bbc1759ef61eac655b0d905069d637e57f51c3"
