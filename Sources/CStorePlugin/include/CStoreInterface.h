// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "635505e02ec6e0b81aac912c1a9b258723526b8d2d30870d1ce69157f37289f7"
