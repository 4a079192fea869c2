// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "6e93f65960e71eb3373f405e29f2772530d9f530af6a89461b1725ad2edaa3f2"
