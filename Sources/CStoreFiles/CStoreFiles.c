#define _GNU_SOURCE
#include "CStoreFiles.h"
#include <fcntl.h>
#include <stdio.h>

int asf_exchange(const char *one, const char *other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

int asf_rename_exclusive(const char *from, const char *to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}
