// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "0f29b699841a1e09d8613b922d8754053fb2400e8c2bf7c1a700fd62e1850525"
