// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "cbb3a57c5595a6411acfe49962a25a69a0590c9b5e72fc3146a4c7d5ddcf29ab"
