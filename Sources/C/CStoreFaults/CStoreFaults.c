#define _GNU_SOURCE
#include "CStoreFaults.h"
#include "FaultState.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// A sanitizer defines these calls itself, to look at what they are given. Checks are not run under one.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

static csf_state *volatile state;

// MARK: As a library that is loaded before others

#ifdef CSF_PRELOAD
// Scripts/faults compiles this file as a separate library, which it loads into the command (LD_PRELOAD). Every call whose path is in
// CSF_FOLDER is then counted, from the first one on that changes something there; looks and reads count as well. The shared file
// CSF_RESULT gets the number of calls. Call number CSF_AT fails with CSF_ERROR, with CSF_FOREVER all that follow fail too; without an
// error the process is killed instead.
#include <sys/mman.h>

static const char *touched_folder;
static size_t touched_length;
static int64_t fail_at;
static int fail_error, fail_forever, has_begun;
static int64_t *touches;
static csf_state idle;

static int touch_fails(int changes, const char *path) {
  if (!touches || !path || strncmp(path, touched_folder, touched_length) != 0) return 0;
  if (path[touched_length] && path[touched_length] != '/') return 0;
  if (changes) __atomic_store_n(&has_begun, 1, __ATOMIC_SEQ_CST);
  else if (!__atomic_load_n(&has_begun, __ATOMIC_SEQ_CST)) return 0;
  int64_t number = __atomic_add_fetch(touches, 1, __ATOMIC_SEQ_CST);
  if (fail_at == 0 || number < fail_at || (number > fail_at && !fail_forever)) return 0;
  if (fail_error == 0) syscall(SYS_kill, getpid(), SIGKILL);
  errno = fail_error;
  return 1;
}

__attribute__((constructor)) static void preloaded(void) {
  const char *folder = getenv("CSF_FOLDER"), *result = getenv("CSF_RESULT"), *at = getenv("CSF_AT"), *error = getenv("CSF_ERROR");
  if (!folder || !result) return;
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, result, O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0) return;
  void *shared = mmap(NULL, sizeof *touches, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  syscall(SYS_close, descriptor);
  if (shared == MAP_FAILED) return;
  touched_folder = strdup(folder);
  touched_length = strlen(folder);
  fail_at = at ? atoll(at) : 0;
  fail_error = error ? atoi(error) : 0;
  fail_forever = getenv("CSF_FOREVER") != NULL;
  // Descriptors are followed from here on.
  state = &idle;
  touches = shared;
}
#else
static int touch_fails(int changes, const char *path) { return 0; }
#endif

// Which descriptors were opened for writing, or for reading, since the state was handed over, and under which path.
#define DESCRIPTORS 1024
static unsigned char role[DESCRIPTORS]; // 1: writing, 2: reading, 4: a directory
static char *names[DESCRIPTORS];

void csf_replaced_calls_use(csf_state *shared);

/// Called through a weak reference by csf_arm and csf_disarm: nothing else connects the two targets.
void csf_replaced_calls_use(csf_state *shared) {
  if (shared) memset(role, 0, sizeof role);
  state = shared;
}

static void note(const char *what, const char *path, const char *other) {
  csf_state *s = state;
  if (!s) return;
  char line[PATH_MAX * 2 + 64];
  int length = snprintf(line, sizeof line, "%s\t%s%s%s\n", what, path ? path : "", other ? "\t" : "", other ? other : "");
  if (length <= 0) return;
  if ((size_t)length >= sizeof line) length = sizeof line - 1;
  if (s->trace_length + length >= CSF_TRACE_SIZE) return;
  memcpy(s->trace + s->trace_length, line, (size_t)length);
  s->trace_length += length;
}

/// Counts a call that changes something. 1: it is to fail, errno is set.
static int meets(int kind, const char *what, const char *path, const char *other) {
  if (touch_fails(1, path)) return 1;
  csf_state *s = state;
  if (!s || !s->armed) return 0;
  note(what, path, other);
  int64_t number = ++s->calls;
  switch (s->mode) {
  case CSF_FAIL:
    if (number == s->at) {
      s->reached = 1;
      errno = s->error;
      return 1;
    }
    break;
  case CSF_KILL:
    if (number == s->at) {
      s->reached = 1;
      syscall(SYS_kill, getpid(), SIGKILL);
    }
    break;
  case CSF_STOP:
    if (number == s->at) {
      s->reached = 1;
      while (!s->go) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
      }
    }
    break;
  case CSF_FAIL_KIND:
    if (s->kinds & kind) {
      s->reached = 1;
      errno = s->error;
      return 1;
    }
    break;
  default: break;
  }
  return 0;
}

static int mistaken(int which) { return state && state->armed && (state->mistakes & which); }
static const char *name_of(int descriptor) {
  return descriptor >= 0 && descriptor < DESCRIPTORS && names[descriptor] ? names[descriptor] : "";
}
static int is_written(int descriptor) { return state && descriptor >= 0 && descriptor < DESCRIPTORS && (role[descriptor] & 1); }
static int is_read(int descriptor) { return state && descriptor >= 0 && descriptor < DESCRIPTORS && (role[descriptor] & 2); }
static int is_folder(int descriptor) { return state && descriptor >= 0 && descriptor < DESCRIPTORS && (role[descriptor] & 4); }

/// Whether the path is a device's or the kernel's own. A file system in memory under /dev has stores like any other.
static int is_special(const char *path) {
  if (strncmp(path, "/dev/shm/", 9) == 0) return 0;
  return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

/// Counts a look at the disk, after the first rename. 1: it is to fail, errno is set.
static int look_fails(const char *path) {
  if (touch_fails(0, path)) return 1;
  csf_state *s = state;
  if (!s || !s->armed || s->renames == 0) return 0;
  if (is_special(path)) return 0;
  int64_t number = ++s->looks;
  if (s->mode != CSF_FAIL_LOOK || number != s->at) return 0;
  s->reached = 1;
  errno = s->error;
  return 1;
}

// MARK: Opening and closing

static int opened(int descriptor, const char *path, int flags) {
  if (descriptor >= 0 && descriptor < DESCRIPTORS && state) {
    struct stat info;
    int folder = fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode);
    int special = !folder && fstat(descriptor, &info) == 0 && !S_ISREG(info.st_mode);
    role[descriptor] = special ? 0 : folder ? 4 : (flags & O_ACCMODE) == O_RDONLY ? 2 : 1;
    free(names[descriptor]);
    names[descriptor] = strdup(path);
  }
  return descriptor;
}

static int do_open(int at, const char *path, int flags, mode_t mode) {
  if (touch_fails((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC), path)) return -1;
  if (state && state->armed) {
    int changes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
    if (is_special(path)) {
      // Devices and the kernel's files are not stores.
    } else if (changes) {
      const char *how = flags & O_EXCL ? "create" : flags & O_TRUNC ? "truncate" : flags & O_CREAT ? "open or create" : "open to write";
      if (meets(CSF_OPEN, how, path, NULL)) return -1;
    } else {
      note("read", path, NULL);
      if (look_fails(path)) return -1;
      if (state->mode == CSF_FAIL_KIND && (state->kinds & CSF_READ_OPEN)) {
        state->reached = 1;
        errno = state->error;
        return -1;
      }
    }
  }
  return opened((int)syscall(SYS_openat, at, path, flags, mode), path, flags);
}

#define MODE_OF(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | __O_TMPFILE)) { \
    va_list list; \
    va_start(list, flags); \
    mode = (mode_t)va_arg(list, int); \
    va_end(list); \
  }

int open(const char *path, int flags, ...) { MODE_OF(flags) return do_open(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags) return do_open(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE_OF(flags) return do_open(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE_OF(flags) return do_open(at, path, flags, mode); }
int creat(const char *path, mode_t mode) { return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int descriptor) {
  int fails = 0;
  if (is_written(descriptor)) {
    fails = meets(CSF_CLOSE, "close", name_of(descriptor), NULL);
    if (fails && mistaken(CSF_IGNORE_CLOSE_ERROR)) fails = 0;
  }
  if (descriptor >= 0 && descriptor < DESCRIPTORS) role[descriptor] = 0;
  int error = errno;
  int result = (int)syscall(SYS_close, descriptor);
  if (!fails) return result;
  errno = error;
  return -1;
}

// MARK: Writing

static ssize_t written(int descriptor, size_t count, int *fails, size_t *length) {
  *fails = 0;
  *length = count;
  if (!is_written(descriptor)) return 0;
  if (meets(CSF_WRITE, "write", name_of(descriptor), NULL)) {
    if (mistaken(CSF_IGNORE_WRITE_ERROR)) {
      *fails = 2;
      return (ssize_t)count;
    }
    *fails = 1;
    return -1;
  }
  if (state->mode == CSF_SHORT) {
    state->reached = 1;
    if (state->calls % 2 == 0) {
      errno = EINTR;
      *fails = 1;
      return -1;
    }
    if (count > 1) *length = count / 2;
  }
  return 0;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  int fails;
  size_t length;
  ssize_t answer = written(descriptor, count, &fails, &length);
  if (fails) return answer;
  ssize_t result = syscall(SYS_write, descriptor, bytes, length);
  return length < count && mistaken(CSF_IGNORE_WRITE_ERROR | CSF_ASSUME_FULL_WRITE) && result >= 0 ? (ssize_t)count : result;
}

static ssize_t do_pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  int fails;
  size_t length;
  ssize_t answer = written(descriptor, count, &fails, &length);
  return fails ? answer : syscall(SYS_pwrite64, descriptor, bytes, length, offset);
}
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) { return do_pwrite(descriptor, bytes, count, offset); }
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) { return do_pwrite(descriptor, bytes, count, offset); }

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  int fails;
  size_t length;
  size_t total = 0;
  for (int i = 0; i < count; i++) total += parts[i].iov_len;
  ssize_t answer = written(descriptor, total, &fails, &length);
  if (fails) return answer;
  if (length < total && count > 0) return syscall(SYS_write, descriptor, parts[0].iov_base, parts[0].iov_len > 1 ? parts[0].iov_len / 2 : parts[0].iov_len);
  return syscall(SYS_writev, descriptor, parts, count);
}

static int do_truncate(int descriptor, off_t length) {
  if (is_written(descriptor) && meets(CSF_TRUNCATE, "truncate", name_of(descriptor), NULL)) return -1;
  return (int)syscall(SYS_ftruncate, descriptor, length);
}
int ftruncate(int descriptor, off_t length) { return do_truncate(descriptor, length); }
int ftruncate64(int descriptor, off_t length) { return do_truncate(descriptor, length); }

static int do_sync(int descriptor, long number) {
  int folder = is_folder(descriptor);
  if (folder || is_written(descriptor)) {
    if (mistaken(CSF_DROP_SYNC) || (folder && mistaken(CSF_DROP_FOLDER_SYNC))) return 0;
    if (meets(CSF_SYNC, folder ? "sync folder" : "sync", name_of(descriptor), NULL)) return mistaken(CSF_IGNORE_SYNC_ERROR) ? 0 : -1;
  }
  return (int)syscall(number, descriptor);
}
int fsync(int descriptor) { return do_sync(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return do_sync(descriptor, SYS_fdatasync); }

// MARK: Names

static int copy_over(const char *from, const char *to) {
  int in = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY, 0);
  if (in < 0) return -1;
  int out = open(to, O_WRONLY | O_TRUNC | O_CREAT, 0644);
  char buffer[4096];
  ssize_t got;
  int result = out < 0 ? -1 : 0;
  while (result == 0 && (got = syscall(SYS_read, in, buffer, sizeof buffer)) > 0)
    if (write(out, buffer, (size_t)got) != got) result = -1;
  syscall(SYS_close, in);
  if (out >= 0) close(out);
  if (result == 0) syscall(SYS_unlinkat, AT_FDCWD, from, 0);
  return result;
}

// What a store of several files does that replaces each by itself: the calls are counted one by one.
static int exchange_by_member(const char *from, const char *to) {
  DIR *folder = opendir(from);
  if (!folder) return -1;
  struct dirent *entry;
  int result = 0;
  while (result == 0 && (entry = readdir(folder))) {
    if (entry->d_name[0] == '.') continue;
    char one[PATH_MAX], other[PATH_MAX];
    if (snprintf(one, sizeof one, "%s/%s", from, entry->d_name) >= PATH_MAX) continue;
    if (snprintf(other, sizeof other, "%s/%s", to, entry->d_name) >= PATH_MAX) continue;
    result = meets(CSF_RENAME, "rename", one, other) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, 0);
  }
  closedir(folder);
  return result;
}

static int is_taken(const char *path) {
  const char *slash = strrchr(path, '/');
  return mistaken(CSF_OVERWRITE) && strncmp(slash ? slash + 1 : path, "taken", 5) == 0;
}

// Who exchanges by copying believes that what came out is what was there.
static char came_out[4096];
static struct stat came_out_info;
static void note_came_out(const char *path, const struct stat *info) {
  if (strlen(path) >= sizeof came_out) return;
  strcpy(came_out, path);
  came_out_info = *info;
}
static int has_come_out(const char *path, struct stat *info) {
  if (!came_out[0] || strcmp(came_out, path) != 0 || !mistaken(CSF_RENAME_BY_COPY)) return 0;
  *info = came_out_info;
  return 1;
}

static int do_rename(int one, const char *from, int two, const char *to, unsigned flags) {
  if (state && state->armed && mistaken(CSF_RENAME_BY_COPY)) {
    struct stat info;
    if (stat(from, &info) == 0 && S_ISREG(info.st_mode)) {
      struct stat old;
      int known = flags & 2 && fstatat(AT_FDCWD, to, &old, AT_SYMLINK_NOFOLLOW) == 0;
      int result = copy_over(from, to);
      if (result == 0 && known) note_came_out(from, &old);
      return result;
    }
  }
  if (mistaken(CSF_EXCHANGE_BY_MEMBER) && (flags & 2)) {
    struct stat info;
    if (fstatat(AT_FDCWD, from, &info, 0) == 0 && S_ISDIR(info.st_mode)) return exchange_by_member(from, to);
  }
  if (is_taken(to)) flags = 0;
  if (mistaken(CSF_NO_RENAME_FLAGS) && flags) {
    errno = EINVAL;
    return -1;
  }
  if (mistaken(CSF_NO_EXCHANGE) && (flags & 2)) {
    struct stat info;
    if (fstatat(AT_FDCWD, to, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode)) {
      errno = EXDEV;
      return -1;
    }
  }
  if (mistaken(CSF_EXCHANGE_ONCE) && (flags & 2) && state->renames > 0) return 0;
  if (meets(CSF_RENAME, flags & 2 ? "exchange" : "rename", from, to)) return -1;
  int result = (int)syscall(SYS_renameat2, one, from, two, to, flags);
  if (result == 0 && state && state->armed) state->renames++;
  return result;
}
int rename(const char *from, const char *to) { return do_rename(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int one, const char *from, int two, const char *to) { return do_rename(one, from, two, to, 0); }
int renameat2(int one, const char *from, int two, const char *to, unsigned flags) { return do_rename(one, from, two, to, flags); }

static int do_unlink(int at, const char *path, int flags) {
  if (mistaken(CSF_KEEP_TEMPORARY)) return 0;
  if (meets(CSF_UNLINK, flags & AT_REMOVEDIR ? "remove folder" : "unlink", path, NULL)) return -1;
  return (int)syscall(SYS_unlinkat, at, path, flags);
}
int unlink(const char *path) { return do_unlink(AT_FDCWD, path, 0); }
int unlinkat(int at, const char *path, int flags) { return do_unlink(at, path, flags); }
int rmdir(const char *path) { return do_unlink(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdir(const char *path, mode_t mode) {
  if (meets(CSF_MKDIR, "make folder", path, NULL)) return -1;
  return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
int mkdirat(int at, const char *path, mode_t mode) {
  if (meets(CSF_MKDIR, "make folder", path, NULL)) return -1;
  return (int)syscall(SYS_mkdirat, at, path, mode);
}
int link(const char *from, const char *to) {
  if (meets(CSF_LINK, "link", from, to)) return -1;
  return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int one, const char *from, int two, const char *to, int flags) {
  if (meets(CSF_LINK, "link", from, to)) return -1;
  return (int)syscall(SYS_linkat, one, from, two, to, flags);
}
int symlink(const char *target, const char *path) {
  if (meets(CSF_LINK, "link", target, path)) return -1;
  return (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
}
int fchmod(int descriptor, mode_t mode) {
  if (is_written(descriptor)) {
    if (mistaken(CSF_RESET_MODE)) return 0;
    if (meets(CSF_CHMOD, "change mode", name_of(descriptor), NULL)) return -1;
  }
  return (int)syscall(SYS_fchmod, descriptor, mode);
}
int chmod(const char *path, mode_t mode) {
  if (mistaken(CSF_RESET_MODE)) return 0;
  if (meets(CSF_CHMOD, "change mode", path, NULL)) return -1;
  return (int)syscall(SYS_fchmodat, AT_FDCWD, path, mode, 0);
}

// MARK: Looking

/// Whether the path is that of the kit's own lock, which every commit compares with what it opened.
static int is_lock(const char *path) {
  static const char suffix[] = ".atomicstore-lock";
  size_t length = strlen(path);
  return length >= sizeof suffix - 1 && strcmp(path + length - (sizeof suffix - 1), suffix) == 0;
}

static int looked(int result, struct stat *info, const char *path) {
  if (result != 0) {
    if (errno == ELOOP && mistaken(CSF_BLIND_TO_LINKS)) errno = ENOENT;
    return result;
  }
  if (!S_ISREG(info->st_mode) && !S_ISDIR(info->st_mode) && !S_ISLNK(info->st_mode) && mistaken(CSF_SPECIAL_IS_FILE)) {
    info->st_mode = (info->st_mode & ~(mode_t)S_IFMT) | S_IFREG;
    info->st_size = 0;
  }
  if (S_ISREG(info->st_mode) && mistaken(CSF_UNREADABLE_IS_EMPTY) && state->mode == CSF_FAIL_KIND && (state->kinds & CSF_READ_OPEN))
    info->st_size = 0;
  if (S_ISREG(info->st_mode) && info->st_size > 0 && mistaken(CSF_BLIND_TO_CHANGES) && !is_lock(path)) {
    info->st_mtim.tv_sec = info->st_mtim.tv_nsec = 0;
    info->st_ino = 1;
  }
  return result;
}
static int unseen(const char *path) {
  if (!is_taken(path)) return 0;
  errno = ENOENT;
  return 1;
}
int stat(const char *path, struct stat *info) { return unseen(path) || look_fails(path) ? -1 : looked(fstatat(AT_FDCWD, path, info, 0), info, path); }
int lstat(const char *path, struct stat *info) {
  if (has_come_out(path, info)) return 0;
  return unseen(path) || look_fails(path) ? -1 : looked(fstatat(AT_FDCWD, path, info, mistaken(CSF_BLIND_TO_LINKS) ? 0 : AT_SYMLINK_NOFOLLOW), info, path);
}

DIR *opendir(const char *path) {
  if (look_fails(path)) return NULL;
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK, 0);
  if (descriptor < 0) return NULL;
  DIR *folder = fdopendir(descriptor);
  if (folder) return folder;
  int error = errno;
  syscall(SYS_close, descriptor);
  errno = error;
  return NULL;
}

#ifdef CSF_PRELOAD
int fstat(int descriptor, struct stat *info) {
  const char *path = name_of(descriptor);
  if (*path && touch_fails(0, path)) return -1;
  return (int)syscall(SYS_newfstatat, descriptor, "", info, AT_EMPTY_PATH);
}
#endif

// MARK: Reading and networks

static int read_fails(int descriptor) {
  if (is_read(descriptor) && touch_fails(0, name_of(descriptor))) return 1;
  if (!is_read(descriptor) || !state->armed) return 0;
  int64_t number = ++state->reads;
  if ((state->mode == CSF_FAIL_READ && number == state->at) || (state->mode == CSF_FAIL_KIND && (state->kinds & CSF_READ))) {
    state->reached = 1;
    errno = state->error;
    return mistaken(CSF_IGNORE_READ_ERROR) ? 2 : 1;
  }
  return 0;
}
ssize_t read(int descriptor, void *buffer, size_t count) {
  int fails = read_fails(descriptor);
  if (fails) return fails == 2 ? 0 : -1;
  return syscall(SYS_read, descriptor, buffer, count);
}
static ssize_t do_pread(int descriptor, void *buffer, size_t count, off_t offset) {
  int fails = read_fails(descriptor);
  if (fails) return fails == 2 ? 0 : -1;
  return syscall(SYS_pread64, descriptor, buffer, count, offset);
}
ssize_t pread(int descriptor, void *buffer, size_t count, off_t offset) { return do_pread(descriptor, buffer, count, offset); }
ssize_t pread64(int descriptor, void *buffer, size_t count, off_t offset) { return do_pread(descriptor, buffer, count, offset); }

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
  if (state && state->armed) meets(CSF_NETWORK, "connect", "", NULL);
  return (int)syscall(SYS_connect, descriptor, address, length);
}

#endif
