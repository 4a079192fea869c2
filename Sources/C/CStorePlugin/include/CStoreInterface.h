// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "aa5ed0f59a3eff9d13547af158843706ef1c91bbd757ae8967057c992be97491"
