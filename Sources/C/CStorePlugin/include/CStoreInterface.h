// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "4d9bad3b400fbe6ba903611cc140452ddee916c34bc879c015af7d8649b1ff3e"
