// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "6cd7b706615a56a387aed2dbbc762f3ffe2deed56993fd7345837ab05d10b82c"
