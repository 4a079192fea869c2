// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "3c332245417f0bc26a99102dab79a6ec055a7eeda13f63af53362ba2093d28ed"
