// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "4515b5bd34de84b2f696d56f8ea71d3f8a95c50448a64cbedc0c479c4fba2190"
