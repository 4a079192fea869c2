// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "acc823751b26653c7ca399426fa16d8d4a5a2a2e3b767e50c226ac7d949a1415"
