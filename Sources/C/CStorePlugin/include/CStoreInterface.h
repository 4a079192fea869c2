// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "16032051fbd83833c75575f6df46e66890b0ae90da4af6436e70af52490f7a16"
