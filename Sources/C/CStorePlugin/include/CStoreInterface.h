// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "9f4013c6c467b8189bdde871b5661eab3d946627ab05816345f8c8d20c83b8b9"
