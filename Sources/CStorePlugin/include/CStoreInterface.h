// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "32ce2064a2af34ce3705ef78fdfc01ce6947565e5643080595bbc7effc99d813"
