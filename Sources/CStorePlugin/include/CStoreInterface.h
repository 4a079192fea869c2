// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3b38e41a313dfbf48c749ba2bcbafd5950a4e2d6f725b9002e1230d723c05781"
