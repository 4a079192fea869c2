// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "d9dcc82cdee76e41673d2b2195a08c14d8d1ea66d229825cc5e273b99de026f5"
