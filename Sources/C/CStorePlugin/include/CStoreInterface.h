// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "9456adf5473ffc298123b1b35f2a303ee06ea80d13d2afaa62b121fb0b6b9a30"
