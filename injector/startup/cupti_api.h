// SPDX-License-Identifier: Apache-2.0
//
// CuptiApi holds the CUPTI functions that the library calls, looked up in whichever libcupti
// version the process uses, and describes the quirks of that version.
//
// THREADS: filled once, then read from any thread.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace stemtap::inject {

struct CuptiApi {
  CUptiResult (*GetVersion)(std::uint32_t*) = nullptr;
  CUptiResult (*GetResultString)(CUptiResult, const char**) = nullptr;
  CUptiResult (*GetTimestamp)(std::uint64_t*) = nullptr;  // may be null
  CUptiResult (*Subscribe)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) = nullptr;
  CUptiResult (*SubscribeV2)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*,
                             CUpti_SubscriberParams*) = nullptr;  // since CUDA 13.0; may be null
  CUptiResult (*Unsubscribe)(CUpti_SubscriberHandle) = nullptr;
  CUptiResult (*EnableCallback)(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                CUpti_CallbackId) = nullptr;
  CUptiResult (*ActivityRegisterCallbacks)(CUpti_BuffersCallbackRequestFunc,
                                           CUpti_BuffersCallbackCompleteFunc) = nullptr;
  CUptiResult (*ActivityEnable)(CUpti_ActivityKind) = nullptr;
  CUptiResult (*ActivityDisable)(CUpti_ActivityKind) = nullptr;
  CUptiResult (*ActivitySetAttribute)(CUpti_ActivityAttribute, std::size_t*, void*) = nullptr;
  CUptiResult (*ActivityGetAttribute)(CUpti_ActivityAttribute, std::size_t*,
                                      void*) = nullptr;  // may be null
  CUptiResult (*ActivityFlushAll)(std::uint32_t) = nullptr;
  CUptiResult (*ActivityGetNextRecord)(std::uint8_t*, std::size_t, CUpti_Activity**) = nullptr;
  CUptiResult (*ActivityGetNumDroppedRecords)(CUcontext, std::uint32_t, std::size_t*) = nullptr;
  // Returns the id that the records of a graph's launches contain.
  CUptiResult (*GetGraphExecId)(CUgraphExec, std::uint32_t*) = nullptr;  // may be null

  std::uint32_t version = 0;  // CUPTI_API_VERSION of the library: 12 (CUDA 10.x) .. 28, 130000 ..

  // Kernel records contain graphId since CUDA 11.1.
  bool has_graph() const noexcept { return version >= 14; }
  // If only kernel records are enabled, CUPTI leaks device memory for graphs with memcpy or memset
  // nodes (release notes of 13.3; parca-dev/parcagpu#23).
  bool leaks_graph_memory() const noexcept { return version < 130300; }

  // The library belongs to a CUDA major version that is newer than the build headers.
  bool newer_than_known() const noexcept { return version / 10000 > CUPTI_API_VERSION / 10000; }

  const char* Describe(CUptiResult result) const noexcept;
};

// Looks up every function in `library`. Returns the name of the first required function that is
// missing, or nullptr if none is.
const char* LoadCuptiApi(void* library, CuptiApi& api) noexcept;

}  // namespace stemtap::inject
