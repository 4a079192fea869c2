// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "d415ca988b6e68fb385551d3d8b71093610ff64e56d5bbff42b4f9816573ca36"
