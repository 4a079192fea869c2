// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "2bc73f505b573769f7be40eaec8a8f4c7bf5f3684adae661ea9fd4b8550d8679"
