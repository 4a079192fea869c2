// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "e255e566b9640bf5a301b5485bb91c0d693949d3119c5543682964784915eb81"
