// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "cbebbe4fefe39ef4cf735dfb0cc0f8b8fa846ae647de24df1908b51565709551"
