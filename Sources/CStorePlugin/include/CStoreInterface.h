// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "8f650e8e22460c5f133cbafcb5367dc099be060ba84b81605bef327256ad8b41"
