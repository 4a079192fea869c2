// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "cf2a31cc7dbaf857bd1bda9dc3ece555d7f2018aa9dcaade0d7da0d083147e7c"
