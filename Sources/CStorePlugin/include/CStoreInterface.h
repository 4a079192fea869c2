// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "bb4ea8edd5b37fd45594196e4a07bf1aefa4ec4572c40bbc23d2bcf86db0adb3"
