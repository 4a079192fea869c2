// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "ee0576b7588cdd0b1f3cab463cf63c8606abf12ffb928e9fc995e73f7cdac700"
