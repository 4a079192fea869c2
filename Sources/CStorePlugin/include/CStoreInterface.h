// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "6b6742e5c1deb1be008d2b76a39c864e5e76d9709ae9b61bd233d3c8dc488962"
