// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "0afcb79c9724140eaa591f3f792f5cc02c0e51f005b19570a0d97eb90d344dac"
