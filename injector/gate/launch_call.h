// SPDX-License-Identifier: Apache-2.0
//
// Reads the driver calls that the gate subscribes to. Included by launch_gate.cpp only: the path of
// every launch is one function, which saves 2 of 20 ns.
#pragma once

#include <cstdint>

#include "shm/context_key.h"
#include "startup/cupti_api.h"

namespace stemtap::inject {

struct LaunchCall {
  const void* function;
  CUstream stream;
  shm::LaunchConfig config;
  bool cooperative;
  std::uint32_t shared_bytes;
};

struct SubscribedCall {
  CUpti_CallbackId cbid;
  bool required;  // optional callbacks need later versions of CUDA
};
inline constexpr SubscribedCall kSubscribedCalls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, false}};

enum class CallKind : std::uint8_t {
  kKernelLaunch,
  kGraphLaunch,
  kBeginCapture,  // of a stream into a graph
  kEndCapture
};

inline bool IsLaunch(CallKind kind) noexcept {
  return kind == CallKind::kKernelLaunch || kind == CallKind::kGraphLaunch;
}

inline CallKind KindOf(CUpti_CallbackId cbid) noexcept {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      return CallKind::kGraphLaunch;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz:
      return CallKind::kBeginCapture;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz:
      return CallKind::kEndCapture;
    default:
      return CallKind::kKernelLaunch;
  }
}

inline CUresult ResultOf(const CUpti_CallbackData& data) noexcept {
  const auto* result = static_cast<const CUresult*>(data.functionReturnValue);
  return result == nullptr ? CUDA_SUCCESS : *result;
}

// In the per-thread variants of a launch, a null stream is the thread's own stream.
enum class NullStream : std::uint8_t { kLegacy, kPerThread };

inline CUstream StreamOf(CUstream stream, NullStream null) noexcept {
  return stream == nullptr && null == NullStream::kPerThread ? CU_STREAM_PER_THREAD : stream;
}

inline std::uint16_t Extent(unsigned value) noexcept {
  return static_cast<std::uint16_t>(value);
}

// `Params`: cuLaunchKernel_params or cuLaunchCooperativeKernel_params.
template <typename Params>
LaunchCall CallOf(const void* params, NullStream null, bool cooperative) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  return {p.f,
          StreamOf(p.hStream, null),
          {{p.gridDimX, p.gridDimY, p.gridDimZ},
           {Extent(p.blockDimX), Extent(p.blockDimY), Extent(p.blockDimZ)}},
          cooperative,
          p.sharedMemBytes};
}

// REQUIRES: params.config is not null.
inline LaunchCall CallOf(const cuLaunchKernelEx_params& params, NullStream null) noexcept {
  const CUlaunchConfig& c = *params.config;
  bool cooperative = false;
  for (unsigned i = 0; c.attrs != nullptr && i < c.numAttrs; ++i) {
    cooperative |=
        c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && c.attrs[i].value.cooperative != 0;
  }
  return {params.f,
          StreamOf(c.hStream, null),
          {{c.gridDimX, c.gridDimY, c.gridDimZ},
           {Extent(c.blockDimX), Extent(c.blockDimY), Extent(c.blockDimZ)}},
          cooperative,
          c.sharedMemBytes};
}

// Calls `enter` with a launch of one kernel. Returns false for other calls. A launch without a
// configuration is ignored: the driver rejects it. (A result would be copied member by member,
// which costs 4 ns.)
template <typename Enter>
bool VisitLaunch(CUpti_CallbackId cbid, const void* params, Enter&& enter) noexcept {
  constexpr NullStream kLegacy = NullStream::kLegacy, kPerThread = NullStream::kPerThread;
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      enter(CallOf<cuLaunchKernel_params>(
          params, cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz ? kPerThread : kLegacy,
          false));
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernelEx_params*>(params);
      const bool per_thread = cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz;
      if (p.config != nullptr) enter(CallOf(p, per_thread ? kPerThread : kLegacy));
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      enter(CallOf<cuLaunchCooperativeKernel_params>(
          params,
          cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz ? kPerThread : kLegacy,
          true));
      return true;
    default:
      return false;
  }
}

}  // namespace stemtap::inject
