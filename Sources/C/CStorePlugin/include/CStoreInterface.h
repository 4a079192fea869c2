// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "60bb23b99574a152051358aadae091a142f4e4bd55371676803a187f11aac387"
