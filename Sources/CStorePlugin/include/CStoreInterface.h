// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "bfdb4f4351e45885393568b2a262720c19df18fdd609105bb530daaae5b2a243"
