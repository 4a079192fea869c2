// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "6ba0d2850a4ffe652b9c27a3034f9564fc33cf8416c9f6b03475388c413bc09e"
