// SPDX-License-Identifier: Apache-2.0
//
// Launches: cuLaunchKernel, cuLaunchKernelEx, cuLaunchCooperativeKernel, each with its plain and
// its per-thread-stream name. These differ only in callback id and parameter struct.
#include <cupti.h>

#include "cuda/api_call.h"
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/graphs.h"

using namespace fake_gpu;

namespace {

constexpr std::uint32_t kRegular = CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
constexpr std::uint32_t kCooperative = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;

struct Shape {
  Extent grid, block;
  std::uint32_t shared_bytes;
};

bool IsLaunchable(const Shape& shape) {
  return shape.grid.x != 0 && shape.grid.y != 0 && shape.grid.z != 0 && shape.block.x != 0 &&
         shape.block.y != 0 && shape.block.z != 0;
}

template <typename Params>
CUresult Launch1(std::uint32_t cbid, const char* api_name, const Params& params, CUstream handle,
                 const Shape& shape, std::uint32_t launch_type) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(params.f != nullptr, CUDA_ERROR_INVALID_HANDLE);
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  ApiCall call(cbid, api_name, &params, params.f->name, stream->context);
  if (!IsLaunchable(shape)) return call.Return(CUDA_ERROR_INVALID_VALUE);

  Launch launch;
  launch.function = params.f;
  launch.stream = stream;
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.shared_bytes = shape.shared_bytes;
  launch.duration_ns = RequestedDuration(*params.f, params.kernelParams);
  launch.launch_type = launch_type;
  launch.correlation_id = call.correlation_id();
  if (IsCapturing(*stream)) return call.Return(AddCaptured(*stream, ToNode(launch)));
  ApplyDurationModel(launch);
  Run(launch);
  return call.Return(CUDA_SUCCESS);
}

template <typename Params>
CUresult LaunchPlain(std::uint32_t cbid, const char* api_name, const Params& params,
                     std::uint32_t launch_type) {
  const Shape shape = {{params.gridDimX, params.gridDimY, params.gridDimZ},
                       {params.blockDimX, params.blockDimY, params.blockDimZ},
                       params.sharedMemBytes};
  return Launch1(cbid, api_name, params, params.hStream, shape, launch_type);
}

template <typename Params>
CUresult LaunchEx(std::uint32_t cbid, const char* api_name, const Params& params) {
  FAKE_GPU_REQUIRE(params.config != nullptr, CUDA_ERROR_INVALID_VALUE);
  const CUlaunchConfig& config = *params.config;
  const Shape shape = {{config.gridDimX, config.gridDimY, config.gridDimZ},
                       {config.blockDimX, config.blockDimY, config.blockDimZ},
                       config.sharedMemBytes};
  std::uint32_t type = kRegular;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
        config.attrs[i].value.cooperative) {
      type = kCooperative;
    }
  }
  return Launch1(cbid, api_name, params, config.hStream, shape, type);
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                        CUstream stream, void** params, void** extra) {
  return LaunchPlain(
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel",
      cuLaunchKernel_params{f, gx, gy, gz, bx, by, bz, shared, stream, params, extra}, kRegular);
}

FAKE_GPU_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                             unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                             CUstream stream, void** params, void** extra) {
  return LaunchPlain(
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, "cuLaunchKernel_ptsz",
      cuLaunchKernel_ptsz_params{f, gx, gy, gz, bx, by, bz, shared, stream, params, extra},
      kRegular);
}

FAKE_GPU_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy,
                                                   unsigned gz, unsigned bx, unsigned by,
                                                   unsigned bz, unsigned shared, CUstream stream,
                                                   void** params) {
  return LaunchPlain(
      CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel",
      cuLaunchCooperativeKernel_params{f, gx, gy, gz, bx, by, bz, shared, stream, params},
      kCooperative);
}

FAKE_GPU_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned gx, unsigned gy,
                                                        unsigned gz, unsigned bx, unsigned by,
                                                        unsigned bz, unsigned shared,
                                                        CUstream stream, void** params) {
  return LaunchPlain(
      CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, "cuLaunchCooperativeKernel_ptsz",
      cuLaunchCooperativeKernel_ptsz_params{f, gx, gy, gz, bx, by, bz, shared, stream, params},
      kCooperative);
}

FAKE_GPU_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params,
                                          void** extra) {
  return LaunchEx(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuLaunchKernelEx",
                  cuLaunchKernelEx_params{config, f, params, extra});
}

FAKE_GPU_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f,
                                               void** params, void** extra) {
  return LaunchEx(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, "cuLaunchKernelEx_ptsz",
                  cuLaunchKernelEx_ptsz_params{config, f, params, extra});
}

FAKE_GPU_EXPORT CUresult cuProfilerStart(void) {
  FAKE_GPU_REQUIRE_READY();
  SetCapturing(true);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuProfilerStop(void) {
  FAKE_GPU_REQUIRE_READY();
  SetCapturing(false);
  return CUDA_SUCCESS;
}
