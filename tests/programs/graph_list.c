/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds, instantiates and launches the graphs in its arguments, in that order:
 *
 *   NODES/EDGES           a graph, for example a1,b2,b2/01,02: node 0 precedes nodes 1 and 2. Nodes:
 *                         aN to eN  the kernel kernel_a to kernel_e with N blocks
 *                         mN        a memset of N bytes
 *                         yN        a copy of N bytes
 *                         nN        a child graph of the kernel kernel_c with N blocks
 *   v1:, v2:, params:, ptsz:GRAPH   the same, by another call that instantiates it
 *   again:                instantiates and launches the last graph again
 *   update:GRAPH          updates the last executable graph to this graph, and launches it
 *   threads:GRAPH         8 threads build and instantiate it, 50 times each, and launch each
 */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxNodes = 16, kKernels = 5, kThreads = 8, kPerThread = 50 };

#undef cuGraphInstantiate
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error, char* log,
                            size_t bytes);
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error, char* log,
                               size_t bytes);
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* params);

static CUcontext context;
static CUfunction kernels[kKernels];
static CUdeviceptr memory;
static CUstream stream;

static void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: CUDA error %d\n", what, (int)result);
  exit(3);
}

static const char* After(const char* text, const char* prefix) {
  const size_t length = strlen(prefix);
  return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static CUgraphNode AddKernel(CUgraph graph, CUfunction function, unsigned blocks) {
  uint64_t duration_ns = 5000;
  void* arguments[] = {&duration_ns};
  CUgraphNode node;
  CUDA_KERNEL_NODE_PARAMS p;
  memset(&p, 0, sizeof p);
  p.func = function;
  p.gridDimX = blocks;
  p.gridDimY = p.gridDimZ = 1;
  p.blockDimX = 32;
  p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = arguments;
  Check(cuGraphAddKernelNode(&node, graph, NULL, 0, &p), "cuGraphAddKernelNode");
  return node;
}

static CUgraphNode AddFill(CUgraph graph, unsigned bytes) {
  CUgraphNode node;
  CUDA_MEMSET_NODE_PARAMS p;
  memset(&p, 0, sizeof p);
  p.dst = memory;
  p.elementSize = 1;
  p.width = bytes;
  p.height = 1;
  Check(cuGraphAddMemsetNode(&node, graph, NULL, 0, &p, context), "cuGraphAddMemsetNode");
  return node;
}

static CUgraphNode AddCopy(CUgraph graph, unsigned bytes) {
  CUgraphNode node;
  CUDA_MEMCPY3D p;
  memset(&p, 0, sizeof p);
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = memory;
  p.dstDevice = memory + 4096;
  p.WidthInBytes = bytes;
  p.Height = p.Depth = 1;
  Check(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &p, context), "cuGraphAddMemcpyNode");
  return node;
}

static CUgraphNode AddChild(CUgraph graph, unsigned blocks) {
  CUgraphNode node;
  CUgraph child;
  Check(cuGraphCreate(&child, 0), "cuGraphCreate");
  AddKernel(child, kernels[2], blocks);
  Check(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child), "cuGraphAddChildGraphNode");
  Check(cuGraphDestroy(child), "cuGraphDestroy");
  return node;
}

static CUgraph Build(const char* text) {
  CUgraph graph;
  CUgraphNode nodes[kMaxNodes];
  int count = 0;
  Check(cuGraphCreate(&graph, 0), "cuGraphCreate");
  while (*text != '/' && *text != 0 && count < kMaxNodes) {
    const char kind = *text++;
    const unsigned number = (unsigned)strtoul(text, (char**)&text, 10);
    nodes[count++] = kind == 'm'   ? AddFill(graph, number)
                     : kind == 'y' ? AddCopy(graph, number)
                     : kind == 'n' ? AddChild(graph, number)
                                   : AddKernel(graph, kernels[kind - 'a'], number);
    if (*text == ',') ++text;
  }
  for (text += *text == '/'; text[0] != 0 && text[1] != 0; text += text[2] == ',' ? 3 : 2) {
    Check(cuGraphAddDependencies(graph, &nodes[text[0] - '0'], &nodes[text[1] - '0'], NULL, 1),
          "cuGraphAddDependencies");
  }
  return graph;
}

static CUgraphExec Instantiate(CUgraph graph, const char* call) {
  CUgraphExec exec;
  CUDA_GRAPH_INSTANTIATE_PARAMS params;
  memset(&params, 0, sizeof params);
  CUresult result;
  if (strcmp(call, "v1:") == 0) {
    result = cuGraphInstantiate(&exec, graph, NULL, NULL, 0);
  } else if (strcmp(call, "v2:") == 0) {
    result = cuGraphInstantiate_v2(&exec, graph, NULL, NULL, 0);
  } else if (strcmp(call, "params:") == 0) {
    result = cuGraphInstantiateWithParams(&exec, graph, &params);
  } else if (strcmp(call, "ptsz:") == 0) {
    result = cuGraphInstantiateWithParams_ptsz(&exec, graph, &params);
  } else {
    result = cuGraphInstantiateWithFlags(&exec, graph, 0);
  }
  Check(result, call);
  return exec;
}

static void* RunThread(void* text) {
  CUstream own;
  Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  Check(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (int i = 0; i < kPerThread; ++i) {
    CUgraph graph = Build((const char*)text);
    CUgraphExec exec = Instantiate(graph, "");
    Check(cuGraphDestroy(graph), "cuGraphDestroy");
    Check(cuGraphLaunch(exec, own), "cuGraphLaunch");
    Check(cuStreamSynchronize(own), "cuStreamSynchronize");
    Check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  }
  return NULL;
}

static void RunThreads(const char* text) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, RunThread, (void*)text) != 0) exit(5);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

static void Open(void) {
  CUdevice device;
  CUmodule module;
  char name[] = "kernel_a";
  Check(cuInit(0), "cuInit");
  Check(cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  Check(cuModuleLoadData(&module, "image"), "cuModuleLoadData");
  for (int i = 0; i < kKernels; ++i, ++name[7]) {
    Check(cuModuleGetFunction(&kernels[i], module, name), "cuModuleGetFunction");
  }
  Check(cuMemAlloc(&memory, 1 << 20), "cuMemAlloc");
  Check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

int main(int argc, char** argv) {
  static const char* const kCalls[] = {"v1:", "v2:", "params:", "ptsz:", ""};
  CUgraph last = NULL;
  CUgraphExec exec = NULL;
  CUgraphExecUpdateResultInfo info;
  Open();
  for (int i = 1; i < argc; ++i) {
    const char* text = NULL;
    if (strcmp(argv[i], "again:") == 0) {
      exec = Instantiate(last, "");
    } else if ((text = After(argv[i], "update:")) != NULL) {
      Check(cuGraphExecUpdate(exec, Build(text), &info), "cuGraphExecUpdate");
    } else if ((text = After(argv[i], "threads:")) != NULL) {
      RunThreads(text);
      continue;
    } else {
      int call = 0;
      while ((text = After(argv[i], kCalls[call])) == NULL) ++call;
      last = Build(text);
      exec = Instantiate(last, kCalls[call]);
    }
    Check(cuGraphLaunch(exec, stream), argv[i]);
  }
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  return 0;
}
