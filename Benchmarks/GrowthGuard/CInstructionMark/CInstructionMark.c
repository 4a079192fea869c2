#include "CInstructionMark.h"

// Not inlined, nor left out as functions without effects, nor made one.
__attribute__((noinline)) void aim_begin(void) { __asm__ volatile("# begin" ::: "memory"); }
__attribute__((noinline)) void aim_end(void) { __asm__ volatile("# end" ::: "memory"); }
