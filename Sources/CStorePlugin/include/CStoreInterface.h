// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "de5e1644bfde87da55cfab2042e347c8aefeb6278e7ff577e39beb176b315362"
