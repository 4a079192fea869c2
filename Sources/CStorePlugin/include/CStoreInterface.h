// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "af1fcc925e228960d79ba3c545b2cdf86a810ad35ce4bdbba7de61d3d0b68667"
