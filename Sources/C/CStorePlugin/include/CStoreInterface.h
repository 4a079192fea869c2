// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "b9be7f31fa730c5aae6897dd3aae4787a694e0e967afc33760f91d90a795cfbf"
