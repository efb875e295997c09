// SPDX-License-Identifier: Apache-2.0
//
// CuptiApi is the part of CUPTI that we call, found in the library that the process uses, whichever
// version that is; and what is known of that version's quirks.
//
// THREADS: filled once, read from anywhere.
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
                             CUpti_SubscriberParams*) = nullptr;  // 13.0 on; may be null
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

  std::uint32_t version = 0;  // CUPTI_API_VERSION of the library: 12 (CUDA 10.x) .. 28, 130000 ..

  // graphId stands in every kernel record from CUDA 11.1 on.
  bool has_graph() const noexcept { return version >= 14; }
  // Kernels alone leak device memory when graphs hold memcpy or memset nodes whose kinds are not
  // enabled (release notes of 13.3; parca-dev/parcagpu#23).
  bool leaks_graph_memory() const noexcept { return version < 130300; }

  // Of a CUDA major that did not exist when this was written.
  bool newer_than_known() const noexcept { return version / 10000 > CUPTI_API_VERSION / 10000; }

  const char* Describe(CUptiResult result) const noexcept;
};

// The oldest version whose kernel records begin as the decoder expects.
inline constexpr std::uint32_t kOldestCupti = 12;

// Looks every function up in `library`. The name of the first that is missing, nullptr if none is.
const char* LoadCuptiApi(void* library, CuptiApi& api) noexcept;

}  // namespace stemtap::inject
