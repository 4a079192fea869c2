// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "2212b9701a1459cffb904e5c664313ad9afa7f2d6c24266319c03ad150780564"
