// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "c37d6c24992548536855f9474bb085e446377781a0d2bdc5a97b7706970fb5aa"
