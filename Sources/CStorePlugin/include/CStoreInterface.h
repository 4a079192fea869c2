// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "4720d07d990a64100490ed86468cf70f039575922e4eadb92454add6ce832c5e"
