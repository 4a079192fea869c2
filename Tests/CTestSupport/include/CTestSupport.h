#ifndef C_TEST_SUPPORT_H
#define C_TEST_SUPPORT_H

#include <sys/types.h>

/// The number of threads that run tasks of the tests; 0 if they are Swift's own (`ATOMICSTORE_TEST_THREADS=0`).
long task_threads(void);

/// Starts a program with files as standard input, output and error, and with nothing else open; in a directory, if it is not null.
///
/// @return 0, or an error number.
int test_spawn(
    pid_t *_Nonnull process, const char *_Nonnull program, char *_Nullable const *_Nonnull arguments, char *_Nullable const *_Nonnull environment,
    const char *_Nullable folder, const char *_Nonnull input, const char *_Nonnull output, const char *_Nonnull errors);

/// Waits for the end of a program.
///
/// @return Its exit code, or 1000 and the signal that ended it.
int test_wait(pid_t process);

#endif
