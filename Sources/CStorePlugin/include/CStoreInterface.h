// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "73f94c7b6b56a53ce98ac93808c1f41740bd03b21ce67c72a95b58a8a6631f4c"
