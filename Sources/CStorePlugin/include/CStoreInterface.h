// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "ebdaa92d4b7d810f9aaceaa62e8d21c510f38d15efb25b041a5dd7f109740040"
