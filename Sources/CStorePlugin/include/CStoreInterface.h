// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "2f5a2b38f19b04bd967bc7ddbb4a28f14e352f834d94bd3c43a6fe3af80b08b6"
