// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "036fdeecfba7642102a947842b00d1eff006fc5d5e3210bcbd9ded9322ccbd5b"
