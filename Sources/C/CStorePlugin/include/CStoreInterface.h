// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "013881ed1150dfc91c6c97adb60d8e581eadfb780c488f6f10deab99caa1f6d2"
