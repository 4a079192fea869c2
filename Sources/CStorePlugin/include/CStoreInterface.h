// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "735ad0129da9a8da77659bacc2fabae35135465c9a997096e37e9b1f37534a21"
