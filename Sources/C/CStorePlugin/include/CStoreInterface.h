// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "e4e21e7cf676c71d1b4cc24fc81d41a43fd98f7a49cfa6a49908d3711bb02de5"
