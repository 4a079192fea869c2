// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "5a52e88847690dae0af9632e84badf7dd30f6c254972061d2664777ca80a93c2"
