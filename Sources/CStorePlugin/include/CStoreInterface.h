// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "b2f0984afcc66080fec5bac0d3bb7d8f851717f926d60f9c798c4ef922e1ba6c"
