// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "9a325befadb0361700f9317eb10466781aecdd3964433b2a4d88404bf990ad67"
