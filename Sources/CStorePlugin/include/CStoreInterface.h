// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "70a29edbf302bed9c0f9d5b1ba45865eaff359c9d637fac7acf60265fe9daafb"
