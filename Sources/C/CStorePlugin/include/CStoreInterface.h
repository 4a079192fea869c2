// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "4c380b77b677d4b8cf148ffad2cdb5dd08f20137b1a22ac47898bb162fe3aa4c"
