#include "CInstructionMark.h"

// Not inlined, nor left out as a function without effects.
__attribute__((noinline)) void aim_mark(void) { __asm__ volatile("" ::: "memory"); }
