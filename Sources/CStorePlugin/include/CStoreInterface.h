// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "506fa361888ec9983815a8aa016dbaac4d48e3960e88881808e2fb96d29087fa"
