// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "2f66b57a156e56f2cb7dcee0fca8bf4e97d064876a3a38f1b6a49432f51836d3"
