#ifndef CCONFORMANCE_PROCESSES_H
#define CCONFORMANCE_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

/// What checks need of the system and Swift cannot call: fork, limits, extended attributes.

/// A stream for standard output or error that never makes its writer wait: beyond what it holds, writing fails.
int csf_output(int *_Nonnull pair);
/// Makes the stream this process's standard output, 1, or error, 2.
void csf_take_output(int end, int stream);
/// Whether standard output still is that stream.
int csf_has_output(int end);
/// How many bytes wait in a stream.
int csf_waiting(int end);

/// Makes what a child of this process left running its own children, when that child ends.
void csf_adopt(void);
/// Fills a list with the children of this process, and returns how many there are, at most so many.
int csf_children(pid_t *_Nonnull list, int most);
/// A copy of this process, as fork(2) gives; it ends when this process does.
pid_t csf_fork(void);
/// Waits for a child until it, and what it started, has used so many milliseconds of processor time; or, as a last
/// resort, until ten times as long and two seconds have passed. 0: it used them; 1: it exited, with the code; 2: a signal ended it;
/// 3: the time passed, and in the last third of it the child did next to nothing, so it waits for something that does not come;
/// 4: three times that passed while it was at work, so the machine is too slow. `used` is the processor time in milliseconds.
int csf_wait_for_work(pid_t child, int milliseconds, int *_Nonnull code, int64_t *_Nonnull used);
/// 0 for success, as setxattr(2).
int csf_set_attribute(const char *_Nonnull path, const char *_Nonnull name, const char *_Nonnull value);
int csf_set_attribute_bytes(const char *_Nonnull path, const char *_Nonnull name, const void *_Nonnull value, int64_t count);
/// Whether a file has an attribute of this value.
int csf_has_attribute(const char *_Nonnull path, const char *_Nonnull name, const char *_Nonnull value);
/// Makes the calling thread act as another user, for good; other threads go on as they are. The first of the groups is the user's own.
/// 0 for success.
int csf_become(uint32_t user, const uint32_t *_Nonnull groups, int64_t count);
/// Whether a sanitizer watches this program. It defines the system calls itself and does not follow copies of a process: checks cannot
/// be run under one.
int csf_is_sanitized(void);
/// Gives the system back what was freed.
void csf_trim(void);
void csf_limit(int64_t memory, int64_t seconds);

#endif
