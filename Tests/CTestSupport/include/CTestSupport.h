#ifndef C_TEST_SUPPORT_H
#define C_TEST_SUPPORT_H

#include <sys/types.h>

/// The number of threads that run tasks of the tests; 0 if they are Swift's own (`ATOMICSTORE_TEST_THREADS=0`).
long task_threads(void);

#endif
