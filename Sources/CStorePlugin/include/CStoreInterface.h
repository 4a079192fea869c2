// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "a238be74d0b0a5d25d8fe12d56375251724b18afc962dc820976138825c5df15"
