// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "590905bbb83ecab7574208c2e5a2423997b139d0ec54af8c5336fc357fabb190"
