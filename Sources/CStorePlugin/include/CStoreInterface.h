// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "e4dda29e304bd090c2f059a365786d87b4a4a38560c96c29cf4c511921d52d8b"
