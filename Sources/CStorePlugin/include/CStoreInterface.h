// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "1adcb2b78e925f2c89d83efdfded6e32ce7e7d525337417d2cec6cea699ae817"
