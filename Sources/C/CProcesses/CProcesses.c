#define _GNU_SOURCE
#include "CProcesses.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_DESCRIPTORS 8

int cpr_socketpair(int *pair) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair); }

int cpr_pipe(int *pair) { return pipe2(pair, O_CLOEXEC); }

int cpr_never_wait(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
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

pid_t cpr_spawn(
    const char *program, char *const *arguments, char *const *environment, const char *folder, const int *descriptors, int count) {
  int copies[MOST_DESCRIPTORS];
  pid_t child = -1;
  int result = count < 3 || count > MOST_DESCRIPTORS ? EINVAL : 0;
  if (result != 0) count = 0;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (int number = 0; number < count; number++) {
    copies[number] = -1;
    if (descriptors[number] < 0) {
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0);
      continue;
    }
    /* Beyond the child's own numbers, so that none replaces another. */
    copies[number] = fcntl(descriptors[number], F_DUPFD_CLOEXEC, MOST_DESCRIPTORS);
    if (copies[number] < 0) result = errno;
    else posix_spawn_file_actions_adddup2(&actions, copies[number], number);
  }
  if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
  close_from(&actions, count);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  /* A program that was just written is busy for an instant where another thread started a process meanwhile, which has
     the file open until it executes. */
  for (int attempt = 0; result == 0; attempt++) {
    result = posix_spawnp(&child, program, &actions, &attributes, arguments, environment);
    if (result != ETXTBSY || attempt == 100) break;
    struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
    result = 0;
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (int number = 0; number < count; number++)
    if (copies[number] >= 0) close(copies[number]);
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

int cpr_wait(pid_t child, int milliseconds, int *code) {
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
