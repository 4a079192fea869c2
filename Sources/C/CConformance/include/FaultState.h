#ifndef CCONFORMANCE_FAULTSTATE_H
#define CCONFORMANCE_FAULTSTATE_H

#include <stdint.h>

/// What is done to the system calls of a save, and what was seen of them: shared by the processes of one check.
///
/// The replaced calls themselves (`write`, `rename` and so on) are in the target CStoreFaults, which only a program that runs checks
/// links. Without it everything here works, and no call is seen.

/// What is done to the calls while it is armed.
typedef enum {
  CSF_COUNT = 0,       ///< nothing: they are counted
  CSF_FAIL = 1,        ///< call number `at` fails with `error`
  CSF_KILL = 2,        ///< the process is killed instead of call number `at`
  CSF_SHORT = 3,       ///< every write writes half of what it is given, and every second one is interrupted first
  CSF_FAIL_KIND = 4,   ///< every call of the kinds in `kinds` fails with `error`
  CSF_FAIL_READ = 5,   ///< read number `at` fails with `error`
  CSF_STOP = 6,        ///< before call number `at` the process waits until `go` is set
  CSF_FAIL_LOOK = 7,   ///< look number `at` (stat, lstat, opendir, open to read) after the first rename fails with `error`
} csf_mode;

/// Kinds of calls, as bits.
typedef enum {
  CSF_OPEN = 1, CSF_WRITE = 2, CSF_SYNC = 4, CSF_RENAME = 8, CSF_UNLINK = 16, CSF_MKDIR = 32, CSF_TRUNCATE = 64,
  CSF_CLOSE = 128, CSF_CHMOD = 256, CSF_LINK = 512, CSF_NETWORK = 1024, CSF_READ_OPEN = 2048, CSF_READ = 4096,
} csf_kind;

/// Mistakes that the calls can be made to make by themselves, as bits: what a careless writer would do.
typedef enum {
  CSF_DROP_SYNC = 1,           ///< fsync says yes and does nothing
  CSF_DROP_FOLDER_SYNC = 2,    ///< the same for folders alone
  CSF_IGNORE_SYNC_ERROR = 4,   ///< a failing fsync is reported as a success
  CSF_IGNORE_WRITE_ERROR = 8,  ///< a failing or short write is reported as a success
  CSF_RENAME_BY_COPY = 16,     ///< rename writes into the target instead
  CSF_KEEP_TEMPORARY = 32,     ///< unlink says yes and does nothing
  CSF_RESET_MODE = 64,         ///< chmod and chown say yes and do nothing
  CSF_IGNORE_CLOSE_ERROR = 128,
  CSF_IGNORE_READ_ERROR = 256, ///< a failing read is reported as the end of the file
  CSF_ASSUME_FULL_WRITE = 512, ///< a short write is reported as a whole one
  CSF_EXCHANGE_BY_MEMBER = 1024, ///< folders are exchanged file by file
  CSF_OVERWRITE = 2048,        ///< a file whose name begins with "taken" is not seen, and a new one takes its place
  CSF_BLIND_TO_LINKS = 4096,   ///< calls that describe a name describe the target of its link; a circle of links is nothing
  CSF_SPECIAL_IS_FILE = 8192,  ///< pipes, sockets and devices are reported as empty files
  CSF_UNREADABLE_IS_EMPTY = 16384, ///< a file that cannot be opened is reported as one of zero bytes
  CSF_BLIND_TO_CHANGES = 32768,    ///< a file that is not empty looks the same after it was replaced
  CSF_NO_EXCHANGE = 65536,     ///< two directories cannot be exchanged: EXDEV, as on an overlay
  CSF_NO_RENAME_FLAGS = 131072, ///< renameat2 with any flags is not known: EINVAL, as on network file systems
  CSF_EXCHANGE_ONCE = 262144,  ///< the second exchange says yes and does nothing
} csf_mistake;

#define CSF_TRACE_SIZE 262144

/// What the processes of one check share.
typedef struct {
  volatile int32_t armed;
  volatile int32_t mode;
  volatile int32_t error;
  volatile int32_t kinds;
  volatile int32_t mistakes;
  volatile int32_t reached;
  volatile int32_t go;
  volatile int64_t at;
  volatile int64_t calls;
  volatile int64_t reads;
  volatile int64_t looks;
  volatile int64_t renames;
  volatile int64_t trace_length;
  char trace[CSF_TRACE_SIZE];
} csf_state;

/// Memory that this process and those that it forks share. Null if there is none.
csf_state *_Nullable csf_shared(void);
/// The calls so far, one per line.
const char *_Nonnull csf_trace(const csf_state *_Nonnull state);
/// Begins: what follows in this process and its children is counted, and treated as the state says.
void csf_arm(csf_state *_Nonnull state);
void csf_disarm(void);
/// Acts as if the calls were bound to the system's own: nothing is seen, nothing fails. For tests of what must notice that.
void csf_blind(int on);
/// Whether the program defines the replaced calls.
int csf_has_replaced_calls(void);

#endif
