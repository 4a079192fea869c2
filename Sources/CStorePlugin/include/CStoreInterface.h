// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "ca9b278dd62f52d48933761edeb938215d244a56b129a67a2215d551e7845d21"
