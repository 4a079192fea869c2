// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "43566e8fe63e9fa4c4a9bc42cf765a95aeaa9873ab230eb8ba64a30b576b23cd"
