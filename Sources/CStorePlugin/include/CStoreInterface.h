// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "e303f115ab71d3075335b03e585a941a0a030cbbc0655851d6a5d8feb7c200c6"
