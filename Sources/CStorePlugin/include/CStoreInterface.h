// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "4f113f5eaf5eb5d696892711d1b9e3f890e19c4eb2203c8a48106fa125f6ce19"
