// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3f26adad270fe1f172fce6f0ff7cd62168f8f4b30465736097066cce1f75968d"
