// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "047905a6e1f2d052f9a053f86f93751dcfd91ad56b781df3aaa2adb29151d1c6"
