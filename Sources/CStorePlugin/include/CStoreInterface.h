// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "517e9197985387d54a87ff9efb07c284afc7e566788eefbf0b5e5bf3b1812290"
