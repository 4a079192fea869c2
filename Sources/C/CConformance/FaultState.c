#define _GNU_SOURCE
#include "CConformance.h"

#include <stddef.h>
#include <sys/mman.h>

/// Hands the state to the replaced calls; null ends that. Null itself in a program that does not link CStoreFaults.
__attribute__((weak)) void csf_replaced_calls_use(csf_state *shared);

static csf_state *volatile state;
static volatile int blind;

csf_state *csf_shared(void) {
  void *memory = mmap(NULL, sizeof(csf_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

const char *csf_trace(const csf_state *shared) { return shared->trace; }

int csf_has_replaced_calls(void) { return csf_replaced_calls_use != NULL; }

void csf_arm(csf_state *shared) {
  shared->calls = 0;
  shared->reads = 0;
  shared->looks = 0;
  shared->renames = 0;
  shared->reached = 0;
  shared->trace_length = 0;
  shared->armed = 1;
  state = shared;
  if (csf_replaced_calls_use && !blind) csf_replaced_calls_use(shared);
}

void csf_disarm(void) {
  if (state) state->armed = 0;
  state = NULL;
  if (csf_replaced_calls_use) csf_replaced_calls_use(NULL);
}

void csf_blind(int on) { blind = on; }
