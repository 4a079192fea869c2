// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3daa98f7ac898c9c15f14585c20c658570a294d1ffffe51ff70affe617fa094b"
