// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "8d128a8371fc0de16ce6aa33cd3baa79ffb71a713fd29b2233fe9eff32fccd9f"
