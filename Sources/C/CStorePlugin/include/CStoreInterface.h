// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "31086169b7a6532163e6f93475a6f59d09c0d152a58c8f7a39fa42ef912d99b9"
