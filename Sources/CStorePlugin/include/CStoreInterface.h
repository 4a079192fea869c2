// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3f2cc0a9bc9f9cda6a80d91a9febbd48adc8022257eb53e74e9d1bf2ba4422cf"
