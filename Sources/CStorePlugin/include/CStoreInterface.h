// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "970a0d00d295f5a70e4b060be629889f8a8f0d25c42533b5df2b91e3fa0806cb"
