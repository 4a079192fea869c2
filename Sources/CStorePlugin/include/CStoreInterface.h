// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "7203dbbb4b7fc7573dcbd3a8997087705f903f98b0a388c929ef6981bf904130"
