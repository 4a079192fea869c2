// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "40567227112a4e5b0ae30a9d1ce279862e283541aab24830de19ecddc55c5db8"
