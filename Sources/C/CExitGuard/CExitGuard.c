#define _GNU_SOURCE
#include "CExitGuard.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CStorePlugin.h"

/// The bounds of the program's own code, which the linker defines.
extern char __executable_start, etext;

/// The exit code of EX_SOFTWARE, which the commands give for an error of the program itself.
#define FAILED 70

/// The exit code, after the plug-in in whose name this is called was named; `code` for everyone else.
static int guarded(int code, const char *how, const void *caller, const void *frame) {
  if ((const char *)caller >= &__executable_start && (const char *)caller < &etext) return code;
  const char *path = asp_plugin_calling((uintptr_t)caller, (uintptr_t)frame, (uintptr_t)frame);
  if (!path) return code;
  asp_blame(path, how, code);
  return FAILED;
}

_Noreturn static void end(int code) {
  while (1) syscall(SYS_exit_group, code);
}

/// Calls the system's function of that name.
_Noreturn static void pass_on(const char *name, int code) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function) ((void (*)(int))function)(code);
  end(code);
}

#define GUARDED(code, how) guarded(code, how, __builtin_return_address(0), __builtin_frame_address(0))

_Noreturn void exit(int code) { pass_on("exit", GUARDED(code, "exit with code ")); }
_Noreturn void quick_exit(int code) { pass_on("quick_exit", GUARDED(code, "quick_exit with code ")); }
_Noreturn void _exit(int code) { end(GUARDED(code, "_exit with code ")); }
_Noreturn void _Exit(int code) { end(GUARDED(code, "_Exit with code ")); }
