#ifndef ATOMIC_STORE_KIT_CSTOREFILES_H
#define ATOMIC_STORE_KIT_CSTOREFILES_H
#include <stdint.h>

/// The system's stat, whose name in Swift is that of the structure.
int asf_stat(const char *_Nonnull path, void *_Nonnull status);

/// Swaps two paths in one step (renameat2 with RENAME_EXCHANGE). 0, or -1 with errno set.
int asf_exchange(const char *_Nonnull one, const char *_Nonnull other);

/// Renames and fails with EEXIST where the new name is taken (RENAME_NOREPLACE). 0, or -1 with errno set.
int asf_rename_exclusive(const char *_Nonnull from, const char *_Nonnull to);

/// Copies the extended attributes of the user (user.*) to an open file or folder. What the file system refuses is left out.
void asf_copy_attributes(const char *_Nonnull from, int to);

/// Gives an open file or folder the access control lists of another: the same ones, or none where that one has none.
/// 0, or -1 with errno set where a list could not be set.
int asf_copy_access_lists(const char *_Nonnull from, int to);

/// Reads an extended attribute. Returns its length, or -1 with errno set.
int64_t asf_get_attribute(const char *_Nonnull path, const char *_Nonnull name, void *_Nonnull buffer, int64_t size);

/// The file mode creation mask of the calling thread, read without changing it; -1 where the system does not tell.
int asf_umask(void);

/// Places an exclusive lock on an open file that belongs to the open file description (F_OFD_SETLK), without waiting.
/// 0, or -1 with errno set.
int asf_lock(int descriptor);

/// Whether a user is in a group: 1, 0, or -1 where the system knows no such user.
int asf_is_member(uint32_t user, uint32_t group);

/// Opens a new file without a name (O_TMPFILE), readable and writable by its owner. A descriptor, or -1 with errno set.
int asf_unnamed_file(const char *_Nonnull folder);

/// Asks for a part of an open file to be written to the disk soon.
void asf_begin_writing(int descriptor, int64_t offset, int64_t length);

/// Finds room for bytes that an open file is about to get at an offset, where its file system can: they are then written with less work for each page.
/// What does not succeed has no effect.
void asf_reserve(int descriptor, int64_t offset, int64_t length);

/// Begins to create something under a hidden name, or to move a store between such a name and its own; calls may be nested. Waits while asf_stop_moving holds.
void asf_begin_moving(void);

/// Ends what the same thread began.
void asf_end_moving(void);

/// Begins to publish several things together. 0 if this thread has begun already; then it must not end it here.
int asf_begin_joint(void);
/// Notes that the first of them was published: it counts as being moved until asf_end_joint. Without asf_begin_joint, and
/// after the first time, this does nothing.
void asf_hold_joint(void);
/// Ends what asf_begin_joint began.
void asf_end_joint(void);

/// Waits until no thread moves a store, and lets none begin to until asf_let_move.
void asf_stop_moving(void);
void asf_let_move(void);

/// The number of processors that the calling thread may use; 0 where the system does not tell.
int asf_processor_count(void);
#endif
