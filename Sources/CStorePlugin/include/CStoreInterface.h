// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "7ce7916682601fc77dd1498f59197717970c29b7aee11503c59679e382061da7"
