// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "11cb49082b0c4f1e85223e62f2d938daf5700f45bb16a696d2e910c801939bc3"
