/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA program that uses only the driver API: it repeats y = a x + y on vectors of three sizes. It
 * does not depend on stemtap.
 *
 *   saxpy [LAUNCHES]
 *
 * It prints the final contents of the vectors, which must not change under stemtap. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

/* For any GPU of compute capability 5.0 or later; the driver compiles it. */
static const char* kPtx =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry saxpy(.param .u64 n, .param .u64 x, .param .u64 y, .param .f32 a) {\n"
    "  .reg .pred %p;\n  .reg .b32 %i, %m, %b, %t;\n  .reg .b64 %n, %x, %y, %o;\n"
    "  .reg .f32 %a, %u, %v;\n"
    "  ld.param.u64 %x, [x];\n  ld.param.u64 %y, [y];\n  ld.param.f32 %a, [a];\n"
    "  ld.param.u64 %n, [n];\n"
    "  mov.u32 %b, %ctaid.x;\n  mov.u32 %m, %ntid.x;\n  mov.u32 %t, %tid.x;\n"
    "  mad.lo.u32 %i, %b, %m, %t;\n  cvt.u64.u32 %o, %i;\n"
    "  setp.ge.u64 %p, %o, %n;\n  @%p bra done;\n"
    "  mul.wide.u32 %o, %i, 4;\n  add.u64 %x, %x, %o;\n  add.u64 %y, %y, %o;\n"
    "  cvta.to.global.u64 %x, %x;\n  cvta.to.global.u64 %y, %y;\n"
    "  ld.global.f32 %u, [%x];\n  ld.global.f32 %v, [%y];\n  fma.rn.f32 %v, %a, %u, %v;\n"
    "  st.global.f32 [%y], %v;\ndone:\n  ret;\n}\n";

static void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "unknown error";
  cuGetErrorName(result, &name);
  fprintf(stderr, "saxpy: %s: %s\n", what, name);
  exit(1);
}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? atoi(argv[1]) : 10000;
  const unsigned sizes[3] = {1u << 10, 1u << 16, 1u << 22};
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction saxpy;
  CUdeviceptr x;
  CUdeviceptr y;
  Check(cuInit(0), "cuInit");
  Check(cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  Check(cuModuleLoadData(&module, kPtx), "cuModuleLoadData");
  Check(cuModuleGetFunction(&saxpy, module, "saxpy"), "cuModuleGetFunction");
  Check(cuMemAlloc(&x, sizes[2] * sizeof(float)), "cuMemAlloc");
  Check(cuMemAlloc(&y, sizes[2] * sizeof(float)), "cuMemAlloc");
  Check(cuMemsetD32(x, 0x3f800000, sizes[2]), "cuMemsetD32"); /* 1.0f */
  Check(cuMemsetD32(y, 0, sizes[2]), "cuMemsetD32");
  float a = 1.0f;
  for (int i = 0; i < launches; ++i) {
    /* n comes first because stemtap's simulated GPU can use the first parameter as the kernel's
     * nanoseconds: FAKE_GPU_DURATIONS=parameter. */
    unsigned long long n = sizes[i % 3];
    void* parameters[] = {&n, &x, &y, &a};
    const unsigned blocks = (unsigned)((n + 255) / 256);
    Check(cuLaunchKernel(saxpy, blocks, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL),
          "cuLaunchKernel");
  }
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  float first = 0.0f;
  Check(cuMemcpyDtoH(&first, y, sizeof(first)), "cuMemcpyDtoH");
  printf("%d launches, y[0] = %.0f\n", launches, first);
  return 0;
}
