// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "4bffcab1cdff96c8c12c7e2c808ed217ad4728c75e17b768c337c3ea9144e222"
