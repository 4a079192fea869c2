// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "716cec7fd57111eacbf7dc1dee203df4eccaee9f05b1f15e45eb360d5c21bcad"
