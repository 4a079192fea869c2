// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3f33a354b87a90d0d60bba3963e862c65981bb1930b93718bff1980e59819201"
