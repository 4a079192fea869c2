// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3d9a6f7d7ccd21bf4cbe5eb9191d485178dd0f0849e25e66cd1e285da7fd00df"
