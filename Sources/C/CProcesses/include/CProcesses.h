#ifndef CPROCESSES_H
#define CPROCESSES_H

#include <sys/types.h>

/// What starting programs needs of the system and Swift cannot call.

/// Starts a program in its own process group, with signals as a shell leaves them. Its descriptors 0 to `count` - 1 are those given, /dev/null in the
/// place of -1; it has no others. `count` is 3 to 8. It runs in `folder`, or where this process does. A program without a slash is looked for in PATH.
/// -1 with errno on failure.
pid_t cpr_spawn(const char *_Nonnull program, char *_Nullable const *_Nonnull arguments, char *_Nullable const *_Nonnull environment,
                const char *_Nullable folder, const int *_Nonnull descriptors, int count);
/// Waits for a child until a deadline in milliseconds. 0: still running; 1: it exited, with the code; 2: a signal ended it.
int cpr_wait(pid_t child, int milliseconds, int *_Nonnull code);
/// Two connected streams, closed at exec. 0, or -1 with errno.
int cpr_socketpair(int *_Nonnull pair);
/// A pipe: the end to read from, and the one to write to; closed at exec. 0, or -1 with errno.
int cpr_pipe(int *_Nonnull pair);
/// Makes reads and writes of a descriptor return at once. 0, or -1 with errno.
int cpr_never_wait(int descriptor);

#endif
