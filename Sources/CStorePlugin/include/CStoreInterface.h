// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "c7d7905eea59f3542d2546178e2f858340c4f44a91fff7bb3c28b9404f17bfde"
