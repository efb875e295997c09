/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures ten kernels from a stream into a graph and launches it until at least the given number
 * of kernels has run; prints the number of kernels.
 */
#include "victim.h"

enum { kNodes = 10 };

int main(int argc, char** argv) {
  const long count = LaunchCount(argc, argv);
  Victim victim;
  InitAndLaunch(&victim, 0);
  CUgraph graph;
  CUgraphExec exec;
  Check(cuStreamBeginCapture(victim.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "cuStreamBeginCapture");
  LaunchMany(&victim, kNodes);
  Check(cuStreamEndCapture(victim.stream, &graph), "cuStreamEndCapture");
  Check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
  long launched = 0;
  for (; launched < count; launched += kNodes) {
    Check(cuGraphLaunch(exec, victim.stream), "cuGraphLaunch");
  }
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  Check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  Check(cuGraphDestroy(graph), "cuGraphDestroy");
  Close(&victim);
  printf("%ld\n", launched);
  return 0;
}
