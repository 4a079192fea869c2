// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "9d3e4e8d8aff16f05bae61f042931283a2aa3a816f54b343a6e7ff38bd850b7d"
