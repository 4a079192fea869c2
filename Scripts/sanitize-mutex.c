// What a Mutex reports to ThreadSanitizer. Its fast paths are compiled into the program, and so are seen; where threads meet, the lock goes
// on in libswiftSynchronization, which is not instrumented, and whatever it guards would be reported as a race. These stand before
// the library's own three functions, call them, and say what they did. Scripts/sanitize links this file into what it runs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// Weak: tools that only build the package are linked with this file too, and not with the sanitizer.
__attribute__((weak)) void __tsan_acquire(void *);
__attribute__((weak)) void __tsan_release(void *);

#define SELF __attribute__((swift_context)) void *self
#define LIBRARYS_OWN(type, name) \
  static type own; \
  if (!own) own = (type)dlsym(RTLD_NEXT, name)

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef __attribute__((swiftcall)) void (*lock_function)(uint32_t, SELF);
typedef __attribute__((swiftcall)) bool (*try_function)(SELF);
typedef __attribute__((swiftcall)) void (*unlock_function)(SELF);

__attribute__((swiftcall)) void mutex_lock(uint32_t thread, SELF) __asm__(LOCK);
__attribute__((swiftcall)) void mutex_lock(uint32_t thread, SELF) {
  LIBRARYS_OWN(lock_function, LOCK);
  own(thread, self);
  if (__tsan_acquire) __tsan_acquire(self);
}

__attribute__((swiftcall)) bool mutex_try(SELF) __asm__(TRY);
__attribute__((swiftcall)) bool mutex_try(SELF) {
  LIBRARYS_OWN(try_function, TRY);
  bool taken = own(self);
  if (taken && __tsan_acquire) __tsan_acquire(self);
  return taken;
}

__attribute__((swiftcall)) void mutex_unlock(SELF) __asm__(UNLOCK);
__attribute__((swiftcall)) void mutex_unlock(SELF) {
  LIBRARYS_OWN(unlock_function, UNLOCK);
  if (__tsan_release) __tsan_release(self);
  own(self);
}
