#ifndef ATOMIC_STORE_KIT_CSTOREFILES_H
#define ATOMIC_STORE_KIT_CSTOREFILES_H
#include <stdint.h>

/// Swaps two paths in one step (renameat2 with RENAME_EXCHANGE). 0, or -1 with errno set.
int asf_exchange(const char *one, const char *other);

/// Renames and fails with EEXIST where the new name is taken (RENAME_NOREPLACE). 0, or -1 with errno set.
int asf_rename_exclusive(const char *from, const char *to);

/// Gives a file or folder the extended attributes of another that are its user's (user.*), and its access list. What the file
/// system refuses is left.
void asf_copy_attributes(const char *from, int to);

/// Asks for a part of an open file to be written to the disk soon.
void asf_begin_writing(int descriptor, int64_t offset, int64_t length);
#endif
