// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "9a571bd5ae60628285b41f4d6314215d07faa4a5c70b3553a0cd94bd80b6440b"
