// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "0f92e33c140566d02f551ea4f96a8f0e9f49c02f6c38b76cc5e81d5e6389ec00"
