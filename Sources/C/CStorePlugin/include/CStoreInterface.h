// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "0723cd45aa598a30f69b754335c074a610f865ed664736cf595e5383cc605251"
