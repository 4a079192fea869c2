// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "30861c14d5d239a0c693b7f1756a53ed37a40e69ed32a38673a93cd38e2525c6"
