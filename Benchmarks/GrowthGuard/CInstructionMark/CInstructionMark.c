#include "CInstructionMark.h"

/// Runs a command of valgrind's monitor: a request to valgrind is a sequence of instructions without an effect, which
/// valgrind recognizes. See its manual, "The Client Request mechanism".
static void run_monitor_command(const char *command) {
  volatile unsigned long request[6] = {0x1202 /* VG_USERREQ__GDB_MONITOR_COMMAND */, (unsigned long)command};
#if defined(__x86_64__)
  unsigned long result = 0;
  __asm__ volatile(
    "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
    : "+d"(result)
    : "a"(&request[0])
    : "cc", "memory");
#elif defined(__aarch64__)
  __asm__ volatile(
    "mov x3, xzr\n\tmov x4, %0\n\tror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
    "orr x10, x10, x10"
    :
    : "r"(&request[0])
    : "cc", "memory", "x3", "x4");
#endif
}

void aim_mark(void) { run_monitor_command("v.info stats"); }
