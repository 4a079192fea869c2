// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "c5de76bed4f378dcc16f49cbabcf9323733bd824db993e1312edad895f6fc765"
