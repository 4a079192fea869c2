// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "a63ceac976be156d81dab99d72eeee3e51e3e353e7e5c6009ebda2d981d0a395"
