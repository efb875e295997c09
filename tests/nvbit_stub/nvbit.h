// SPDX-License-Identifier: Apache-2.0
//
// Replaces NVBit and the part of the CUDA driver that examples/nvbit uses, so that the example
// compiles and runs without either. Contains only declarations, with the names and signatures of
// the public interfaces. Enumerator values differ from the originals. The test defines the
// functions.
#pragma once

#include <cstdint>
#include <vector>

#define __managed__

// The CUDA driver.
using CUdevice = int;
using CUcontext = struct CUctx_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_LAUNCH_FAILED = 1 };
enum CUstreamCaptureStatus { CU_STREAM_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_ACTIVE };
enum { CU_EVENT_DEFAULT = 0 };
#define CU_STREAM_PER_THREAD (reinterpret_cast<CUstream>(std::uintptr_t{2}))

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
};

CUresult cuCtxGetDevice(CUdevice* device);
CUresult cuEventCreate(CUevent* event, unsigned flags);
CUresult cuEventDestroy(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float* ms, CUevent start, CUevent stop);
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status);
CUresult cuStreamSynchronize(CUstream stream);

// Parameters of the launch calls, as driver callbacks receive them.
struct cuLaunchKernel_params {
  CUfunction f;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  void** kernelParams;
  void** extra;
};
struct cuLaunchCooperativeKernel_params {
  CUfunction f;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  void** kernelParams;
};
struct cuLaunchKernelEx_params {
  const CUlaunchConfig* config;
  CUfunction f;
  void** kernelParams;
  void** extra;
};

// NVBit.
enum nvbit_api_cuda_t {
  API_CUDA_cuLaunchKernel,
  API_CUDA_cuLaunchKernel_ptsz,
  API_CUDA_cuLaunchCooperativeKernel,
  API_CUDA_cuLaunchCooperativeKernel_ptsz,
  API_CUDA_cuLaunchKernelEx,
  API_CUDA_cuLaunchKernelEx_ptsz,
  API_CUDA_cuMemAlloc,
};
enum ipoint_t { IPOINT_BEFORE, IPOINT_AFTER };
class Instr;

extern "C" {
// Defined by the tool.
void nvbit_at_init();
void nvbit_at_term();
void nvbit_at_cuda_event(CUcontext ctx, int is_exit, nvbit_api_cuda_t cbid, const char* name,
                         void* params, CUresult* status);
}

// Defined by NVBit.
const std::vector<Instr*>& nvbit_get_instrs(CUcontext ctx, CUfunction function);
std::vector<CUfunction> nvbit_get_related_functions(CUcontext ctx, CUfunction function);
const char* nvbit_get_func_name(CUcontext ctx, CUfunction function, bool mangled = false);
void nvbit_insert_call(const Instr* instr, const char* device_function, ipoint_t point);
void nvbit_add_call_arg_guard_pred_val(const Instr* instr, bool is_variadic_arg = false);
void nvbit_add_call_arg_const_val64(const Instr* instr, uint64_t value,
                                    bool is_variadic_arg = false);
void nvbit_enable_instrumented(CUcontext ctx, CUfunction function, bool flag,
                               bool apply_to_related = true);
