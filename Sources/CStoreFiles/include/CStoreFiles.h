#ifndef ATOMIC_STORE_KIT_CSTOREFILES_H
#define ATOMIC_STORE_KIT_CSTOREFILES_H

/// Swaps two paths in one step (renameat2 with RENAME_EXCHANGE). 0, or -1 with errno set.
int asf_exchange(const char *one, const char *other);

/// Renames and fails with EEXIST where the new name is taken (RENAME_NOREPLACE). 0, or -1 with errno set.
int asf_rename_exclusive(const char *from, const char *to);

#endif
