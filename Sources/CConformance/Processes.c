#define _GNU_SOURCE
#include "CConformance.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

pid_t csf_fork(void) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) {
    // With its parent gone no one would stop it, and it would go on in files that another one is given.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
  }
  return child;
}

int csf_socketpair(int *pair) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair); }

int csf_output(int *pair) { return pipe2(pair, O_NONBLOCK | O_CLOEXEC); }

void csf_take_output(int end) { dup2(end, 1); }

int csf_has_output(int end) {
  struct stat one, other;
  return fstat(1, &one) == 0 && fstat(end, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

int csf_waiting(int end) {
  int count = 0;
  return ioctl(end, FIONREAD, &count) == 0 ? count : 0;
}

/* Closes what the program has open from a descriptor on: not all of it is closed at exec. Foundation's own socket, for one, which says that a process has
   ended once all who have it have closed it: a worker, which lives as long as the program, would have the program wait for it, and so for itself. */
static void close_from(posix_spawn_file_actions_t *actions, int first) {
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(actions, first);
  return;
#endif
#endif
  for (int descriptor = first; descriptor < 1024; descriptor++) posix_spawn_file_actions_addclose(actions, descriptor);
}

pid_t csf_spawn(const char *path, char *const *arguments, char *const *environment, int control) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  if (!getenv("ATOMICSTORE_CONFORMANCE_TALK")) posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, control, 3);
  close_from(&actions, 4);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  int result = posix_spawn(&child, path, &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (result != 0) {
    errno = result;
    return -1;
  }
  return child;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int csf_wait(pid_t child, int milliseconds, int *code) {
  int64_t end = now() + milliseconds;
  long pause = 50000;
  while (1) {
    int status = 0;
    pid_t result = waitpid(child, &status, WNOHANG);
    if (result == child) {
      *code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
      return WIFSIGNALED(status) ? 2 : 1;
    }
    if (result < 0 && errno != EINTR) {
      *code = 0;
      return 1;
    }
    if (now() >= end) return 0;
    struct timespec time = {0, pause};
    nanosleep(&time, NULL);
    if (pause < 2000000) pause *= 2;
  }
}

/* The processor time of a process and of those that it waited for, in milliseconds. */
static int64_t processor_time(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  char line[1024];
  size_t length = fread(line, 1, sizeof line - 1, file);
  fclose(file);
  line[length] = 0;
  /* The name, in parentheses, may hold anything. */
  const char *rest = strrchr(line, ')');
  unsigned long user = 0, system = 0;
  long child_user = 0, child_system = 0;
  if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &user, &system, &child_user, &child_system) != 4)
    return 0;
  return (int64_t)(user + system + (unsigned long)child_user + (unsigned long)child_system) * 1000 / sysconf(_SC_CLK_TCK);
}

int csf_wait_for_work(pid_t child, int milliseconds, int *code, int64_t *used) {
  /* Short limits, which only tests set, wait no two seconds more. */
  int64_t length = (int64_t)milliseconds * 10 + (milliseconds < 1000 ? milliseconds * 2 : 2000);
  int64_t start = now();
  int64_t before = 0;
  int64_t window = 0;
  *used = 0;
  while (1) {
    int end = csf_wait(child, 50, code);
    if (end != 0) return end;
    *used = processor_time(child);
    if (*used >= milliseconds) return 0;
    int64_t passed = now() - start;
    if (passed - window < length / 3) continue;
    /* Less than a four-hundredth of the window. */
    if (passed >= length && (*used - before) * 1200 < length) return 3;
    /* It computes, and other processes take its time. */
    if (passed >= length * 3) return 4;
    before = *used;
    window = passed;
  }
}

int csf_set_attribute(const char *path, const char *name, const char *value) { return setxattr(path, name, value, strlen(value), 0); }
int csf_set_attribute_bytes(const char *path, const char *name, const void *value, int64_t count) {
  return setxattr(path, name, value, (size_t)count, 0);
}
int csf_has_attribute(const char *path, const char *name, const char *value) {
  char found[256];
  ssize_t length = getxattr(path, name, found, sizeof found);
  return length >= 0 && (size_t)length == strlen(value) && memcmp(found, value, (size_t)length) == 0;
}

int csf_become(uint32_t user, const uint32_t *groups, int64_t count) {
  // The library's own functions would have all threads follow.
  if (count < 1 || syscall(SYS_setgroups, (size_t)count, groups) != 0 || syscall(SYS_setresgid, groups[0], groups[0], groups[0]) != 0) return -1;
  return (int)syscall(SYS_setresuid, user, user, user);
}

int csf_is_sanitized(void) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return 1;
#else
  return 0;
#endif
}

void csf_trim(void) { malloc_trim(0); }

void csf_limit(int64_t memory, int64_t seconds) {
  if (memory > 0) {
    struct rlimit limit = {(rlim_t)memory, (rlim_t)memory};
    setrlimit(RLIMIT_AS, &limit);
  }
  if (seconds > 0) {
    struct rlimit limit = {(rlim_t)seconds, (rlim_t)seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
  }
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}
