#define _GNU_SOURCE
#include "CConformance.h"
#include "CProcesses.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

void csf_adopt(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

int csf_children(pid_t *list, int most) {
  siginfo_t none;
  if (waitid(P_ALL, 0, &none, WEXITED | WNOHANG | WNOWAIT) != 0) return 0;
  DIR *processes = opendir("/proc");
  int count = 0;
  for (struct dirent *entry; processes && count < most && (entry = readdir(processes));) {
    char path[64], line[512];
    pid_t process = (pid_t)atoi(entry->d_name);
    if (process <= 0) continue;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    if (!file) continue;
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = 0;
    /* The name, in parentheses, may hold anything. */
    const char *rest = strrchr(line, ')');
    int parent = 0;
    if (rest && sscanf(rest + 1, " %*c %d", &parent) == 1 && parent == getpid()) list[count++] = process;
  }
  if (processes) closedir(processes);
  return count;
}

int csf_output(int *pair) { return pipe2(pair, O_NONBLOCK | O_CLOEXEC); }

void csf_take_output(int end, int stream) { dup2(end, stream); }

int csf_has_output(int end) {
  struct stat one, other;
  return fstat(1, &one) == 0 && fstat(end, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

int csf_waiting(int end) {
  int count = 0;
  return ioctl(end, FIONREAD, &count) == 0 ? count : 0;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* The processor time of a process, and of those that it waited for, in the system's ticks. */
static int64_t ticks_of_one(pid_t process) {
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
  return (int64_t)(user + system + (unsigned long)child_user + (unsigned long)child_system);
}

/* Running children count too: a check that waits for another process, which computes, does not wait endlessly. Only the first thread is
   asked for them, since checks and their processes have no other when they start one. */
static int64_t ticks(pid_t process, int depth) {
  int64_t sum = ticks_of_one(process);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
  FILE *file = depth > 0 ? fopen(path, "re") : NULL;
  if (!file) return sum;
  int child;
  for (int count = 0; count < 64 && fscanf(file, "%d", &child) == 1; count++) sum += ticks(child, depth - 1);
  fclose(file);
  return sum;
}

/* The processor time of a process and of all that it started, in milliseconds. */
static int64_t processor_time(pid_t process) { return ticks(process, 4) * 1000 / sysconf(_SC_CLK_TCK); }

int csf_wait_for_work(pid_t child, int milliseconds, int *code, int64_t *used) {
  /* Short limits, which only tests set, wait no two seconds more. */
  int64_t length = (int64_t)milliseconds * 10 + (milliseconds < 1000 ? milliseconds * 2 : 2000);
  int64_t start = now();
  int64_t before = 0;
  int64_t window = 0;
  *used = 0;
  while (1) {
    int end = cpr_wait(child, 50, code);
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
