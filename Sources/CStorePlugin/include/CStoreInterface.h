// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "6fc44a53395d4a447bafd38291ded2a8e4813ddc0e79066927703fefd3542181"
