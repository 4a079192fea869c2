// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "4b61d2fec492bc0a1696b80ad5e8299e3beebd0fee01503802f1a50a4bc4ef87"
