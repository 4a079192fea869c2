// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "2b63d9e92400b23fb52905bddd342af2b130dfc428a971399426d3097f2c389e"
