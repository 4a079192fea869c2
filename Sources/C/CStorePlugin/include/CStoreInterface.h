// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "68bfe941c7fe285e5446523d334a2312e8e98f57d57d818c3dffddd15bdcd340"
