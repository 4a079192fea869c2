#define _GNU_SOURCE
#include "CStoreFiles.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

int asf_exchange(const char *one, const char *other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

int asf_rename_exclusive(const char *from, const char *to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

void asf_copy_attributes(const char *from, int to) {
  ssize_t length = listxattr(from, NULL, 0);
  if (length <= 0) return;
  char *names = malloc((size_t)length);
  if (!names) return;
  length = listxattr(from, names, (size_t)length);
  for (char *name = names; length > 0 && name < names + length; name += strlen(name) + 1) {
    if (strncmp(name, "user.", 5) != 0 && strcmp(name, "system.posix_acl_access") != 0) continue;
    ssize_t size = getxattr(from, name, NULL, 0);
    if (size < 0) continue;
    void *value = malloc((size_t)size + 1);
    if (!value) continue;
    size = getxattr(from, name, value, (size_t)size);
    if (size >= 0) fsetxattr(to, name, value, (size_t)size, 0);
    free(value);
  }
  free(names);
}

void asf_begin_writing(int descriptor, int64_t offset, int64_t length) {
  // Not waited for, and what may go wrong is for fsync to say.
  sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE);
}
