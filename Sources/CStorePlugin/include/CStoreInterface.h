// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "f13ee1d6d935429371794e9ae65122fa1cc11ed4c1a10655687e699601e5dbf2"
