// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "7d3565579a5d28d23ff822678645cfb0469fc12dc85b19cd69f74e58fd09f744"
