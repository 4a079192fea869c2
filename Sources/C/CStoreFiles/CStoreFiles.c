#define _GNU_SOURCE
#include "CStoreFiles.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

int asf_stat(const char *path, void *status) { return stat(path, status); }

int asf_exchange(const char *one, const char *other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

// Not a read-write lock: threads that move one store after the other would never let a writer in, or would wait for it while
// they move one.
static pthread_mutex_t moves = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moves_changed = PTHREAD_COND_INITIALIZER;
static int moving = 0;
static int moves_stopped = 0;
static __thread int depth = 0;
// What this thread publishes together: not (0), without anything published yet (1), with something (2).
static __thread int joint = 0;

void asf_begin_moving(void) {
  if (depth++ > 0) return;
  pthread_mutex_lock(&moves);
  while (moves_stopped) pthread_cond_wait(&moves_changed, &moves);
  moving++;
  pthread_mutex_unlock(&moves);
}

void asf_end_moving(void) {
  if (--depth > 0) return;
  pthread_mutex_lock(&moves);
  if (--moving == 0) pthread_cond_broadcast(&moves_changed);
  pthread_mutex_unlock(&moves);
}

int asf_begin_joint(void) {
  if (joint) return 0;
  joint = 1;
  return 1;
}

void asf_hold_joint(void) {
  if (joint != 1) return;
  asf_begin_moving();
  joint = 2;
}

void asf_end_joint(void) {
  if (joint == 2) asf_end_moving();
  joint = 0;
}

void asf_stop_moving(void) {
  pthread_mutex_lock(&moves);
  while (moves_stopped) pthread_cond_wait(&moves_changed, &moves);
  moves_stopped = 1;
  while (moving > 0) pthread_cond_wait(&moves_changed, &moves);
  pthread_mutex_unlock(&moves);
}

void asf_let_move(void) {
  pthread_mutex_lock(&moves);
  moves_stopped = 0;
  pthread_cond_broadcast(&moves_changed);
  pthread_mutex_unlock(&moves);
}

int asf_rename_exclusive(const char *from, const char *to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

// 1: copied. 0: the one has no such attribute. -1: it could not be read or set.
static int copy_attribute(const char *from, int to, const char *name) {
  for (int attempt = 0; attempt < 8; attempt++) {
    ssize_t size = getxattr(from, name, NULL, 0);
    if (size < 0) return errno == ENODATA || errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -1;
    void *value = malloc((size_t)size + 1);
    if (!value) return -1;
    ssize_t got = getxattr(from, name, value, (size_t)size);
    int result = got < 0 ? -1 : fsetxattr(to, name, value, (size_t)got, 0) == 0 ? 1 : -1;
    int error = errno;
    free(value);
    errno = error;
    // It grew between the two calls.
    if (got < 0 && errno == ERANGE) continue;
    return result;
  }
  return -1;
}

void asf_copy_attributes(const char *from, int to) {
  ssize_t length = listxattr(from, NULL, 0);
  if (length <= 0) return;
  char *names = malloc((size_t)length);
  if (!names) return;
  length = listxattr(from, names, (size_t)length);
  for (char *name = names; length > 0 && name < names + length; name += strlen(name) + 1)
    if (strncmp(name, "user.", 5) == 0) copy_attribute(from, to, name);
  free(names);
}

int asf_copy_access_lists(const char *from, int to) {
  static const char *const lists[] = {"system.posix_acl_access", "system.posix_acl_default"};
  for (int i = 0; i < 2; i++) {
    int copied = copy_attribute(from, to, lists[i]);
    if (copied < 0) return -1;
    // A list that the new one inherited from its folder would give others access.
    if (copied == 0 && fremovexattr(to, lists[i]) != 0 && errno != ENODATA && errno != EOPNOTSUPP && errno != ENOSYS && errno != EACCES)
      return -1;
  }
  return 0;
}

int64_t asf_get_attribute(const char *path, const char *name, void *buffer, int64_t size) {
  int64_t length;
  do length = getxattr(path, name, buffer, (size_t)size);
  while (length == -1 && errno == EINTR);
  return length;
}

int asf_umask(void) {
  // Threads can have one each (CLONE_FS); /proc/thread-self is the calling one.
  FILE *status = fopen("/proc/thread-self/status", "re");
  if (!status) return -1;
  char line[256];
  unsigned mask;
  int found = -1;
  while (fgets(line, sizeof line, status))
    if (sscanf(line, "Umask: %o", &mask) == 1) {
      found = (int)mask;
      break;
    }
  fclose(status);
  return found;
}

int asf_lock(int descriptor) {
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
  int result;
  do result = fcntl(descriptor, F_OFD_SETLK, &whole);
  while (result == -1 && errno == EINTR);
  return result;
}

int asf_is_member(uint32_t user, uint32_t group) {
  char buffer[16384];
  struct passwd entry, *found = NULL;
  if (getpwuid_r(user, &entry, buffer, sizeof buffer, &found) != 0 || !found) return -1;
  if (entry.pw_gid == group) return 1;
  int count = 64;
  gid_t *groups = malloc((size_t)count * sizeof *groups);
  while (groups && getgrouplist(entry.pw_name, entry.pw_gid, groups, &count) < 0) {
    // `count` is now how many there are.
    gid_t *more = realloc(groups, (size_t)count * sizeof *groups);
    if (!more) free(groups);
    groups = more;
  }
  if (!groups) return -1;
  int result = 0;
  for (int i = 0; i < count; i++) result |= groups[i] == group;
  free(groups);
  return result;
}

int asf_unnamed_file(const char *folder) { return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); }

void asf_begin_writing(int descriptor, int64_t offset, int64_t length) {
  // Not waited for, and what may go wrong is for fsync to say.
  sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE);
}

void asf_reserve(int descriptor, int64_t offset, int64_t length) {
  // Many file systems cannot, and it is for the write to say that there is no space. The file's size stays: what is
  // appended goes to its end.
  fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, length);
}

int asf_processor_count(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  return CPU_COUNT(&set);
}
