#include "CTestSupport.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Tests wait: for programs that they start, for other threads, for the disk. Swift runs tasks on as many threads as there are processors, and a thread that
   waits leaves its processor idle. Here tasks run on twice as many. The hook is the one that Swift's runtime has for executors of other libraries. */

#define SWIFT __attribute__((swiftcall))

typedef struct Job Job;
typedef SWIFT void (*Enqueue)(Job *job);
extern SWIFT void (*swift_task_enqueueGlobal_hook)(Job *job, Enqueue original);
extern SWIFT void swift_job_run(Job *job, uintptr_t executor, uintptr_t implementation);

typedef struct Entry {
  Job *job;
  struct Entry *next;
} Entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static Entry *first, *last;
static long threads, queued, waiting, most;

static void *run(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  while (1) {
    while (!first) {
      waiting++;
      pthread_cond_wait(&added, &lock);
      waiting--;
    }
    Entry *entry = first;
    first = entry->next;
    if (!first) last = NULL;
    queued--;
    pthread_mutex_unlock(&lock);
    Job *job = entry->job;
    free(entry);
    /* The generic executor: none in particular. */
    swift_job_run(job, 0, 0);
    pthread_mutex_lock(&lock);
  }
  return NULL;
}

static SWIFT void enqueue(Job *job, Enqueue original) {
  Entry *entry = malloc(sizeof *entry);
  if (!entry) {
    original(job);
    return;
  }
  *entry = (Entry){job, NULL};
  pthread_mutex_lock(&lock);
  if (last) last->next = entry;
  else first = entry;
  last = entry;
  if (++queued > waiting && threads < most) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) == 0) {
      pthread_detach(thread);
      threads++;
    }
  }
  pthread_cond_signal(&added);
  pthread_mutex_unlock(&lock);
}

long task_threads(void) { return most; }

__attribute__((constructor)) static void install(void) {
  const char *asked = getenv("ATOMICSTORE_TEST_THREADS");
  most = asked ? atol(asked) : 2 * sysconf(_SC_NPROCESSORS_ONLN);
  if (most > 0) swift_task_enqueueGlobal_hook = enqueue;
}
