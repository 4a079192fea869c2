// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3f4ee39e9562e101f57a32a47001d3a3a68b50b18ee303a20baaaf1e63003c56"
