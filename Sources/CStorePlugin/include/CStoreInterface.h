// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "47c490896718b0591bcdf384e9a8cc11d82af6afb777338a13d284d89ff42593"
