// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3430bf6ab96910b6715b3a95f7d1608390ce2fdc985843fd28613ebf8e4413bf"
