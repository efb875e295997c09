/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads share the launches, each on its own stream. */
#include <pthread.h>

#include "victim.h"

enum { kThreads = 8 };

typedef struct Work {
  const Victim* shared;
  long first, count;
} Work;

static void* Run(void* argument) {
  const Work* work = argument;
  Victim own = *work->shared;
  Check(cuCtxSetCurrent(own.context), "cuCtxSetCurrent");
  Check(cuStreamCreate(&own.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (long step = work->first; step < work->count; step += kThreads) LaunchOne(&own, step);
  Check(cuStreamSynchronize(own.stream), "cuStreamSynchronize");
  Check(cuStreamDestroy(own.stream), "cuStreamDestroy");
  return NULL;
}

int main(int argc, char** argv) {
  const long count = LaunchCount(argc, argv);
  Victim victim;
  InitAndLaunch(&victim, 0);
  pthread_t threads[kThreads];
  Work work[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    work[i] = (Work){&victim, i, count};
    if (pthread_create(&threads[i], NULL, Run, &work[i]) != 0) return 4;
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  Close(&victim);
  return 0;
}
