// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "0d430d9a580c076f5f06862f3b07e251af3f3328ee3ae308aff0263a088fde9b"
