// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "8e9d8fb8c6b0b33dabe3296e2857f05cbf44d44c1381f57b837b6787d1ee4623"
