// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "a88aab6929ebd548d7c1f3ec4f0e199cd643a4f6c93889c17da9659d34480158"
