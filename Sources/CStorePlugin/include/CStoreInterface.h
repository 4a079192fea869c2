// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "472cb19b5783a3582272aa0b2a530e074ed4c2a28e1508b04843f8ba0290afd8"
