// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "6429c0e04479b0cc9045f8c225f8a8d870490a876310d7494f8baf884c828320"
