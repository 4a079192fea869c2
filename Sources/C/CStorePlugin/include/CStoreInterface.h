// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "53b7079908d8526a018d68c89e4dd6175d493370f073adb5d89f669ca46ef83a"
