// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "1fa92ad4a7a70c6cfba0e8b63c9bd8b6f2aeff60ee9640804d692d3cabacdbc9"
