// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "c6f1e112d350a25df64c48afe8b954c2cdca450520327f50034cbf9b30851789"
