// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "4139a02c0bd42356e979fdab4ab2fd30d7a1fb68ba87bab50a058ce54aee9d68"
