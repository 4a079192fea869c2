// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "43b999fa7701807a8e5bc0b0788e21a4de9c55bd947ff4513ffbf47ee27f63f2"
