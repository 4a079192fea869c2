// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "80d3261ec1f675962e7502be0b6671cdd8a26890d1b500261d3517da229ac7b1"
