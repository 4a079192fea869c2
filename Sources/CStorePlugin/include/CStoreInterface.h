// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "97a9c2810f5fb860b738c076d31b838de9f7753fbc2ad21399294a8cfd754ab4"
