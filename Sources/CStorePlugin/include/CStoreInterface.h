// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "60ab24a424b0c5b403c0292055379f7c300c92ac7dd380f72b915df0058dc2ec"
