// SPDX-License-Identifier: Apache-2.0
//
// GraphCaptures counts the streams that are being captured into graphs.
//
// THREADS: any. The count is relaxed: a stream capture that another thread begins now could equally
// begin a moment later.
#pragma once

#include <atomic>
#include <cstdint>

#include "startup/cupti_api.h"
#include "startup/runtime.h"

namespace stemtap::inject {

class GraphCaptures {
 public:
  // `driver`: the libcuda in use.
  void Init(void* driver) noexcept {
    is_capturing_ = reinterpret_cast<CUresult (*)(CUstream, CUstreamCaptureStatus*)>(
        FindSymbol(driver, "cuStreamIsCapturing"));
  }

  bool any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }

  // Returns whether a launch into `stream` only becomes a graph node.
  bool Takes(CUstream stream) const noexcept {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (is_capturing_ == nullptr) return false;
    // An error means that a capture is in progress that this stream must not disturb.
    return is_capturing_(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
  }

  // Called before the call that begins a capture, so that no launch is captured during it.
  void Begin() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

  // Called after a call that begins (`begins`) or ends a capture returned `result`.
  void AfterCall(bool begins, CUresult result) noexcept {
    const bool over = begins ? result != CUDA_SUCCESS
                             // These errors also end the capture; other errors leave it unchanged.
                             : result == CUDA_SUCCESS ||
                                   result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                                   result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (!over) return;
    // A capture that began before the callbacks were enabled was not counted.
    std::int32_t count = count_.load(std::memory_order_relaxed);
    while (count > 0 &&
           !count_.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) {
    }
  }

 private:
  CUresult (*is_capturing_)(CUstream, CUstreamCaptureStatus*) = nullptr;  // since CUDA 10.0
  std::atomic<std::int32_t> count_{0};
};

}  // namespace stemtap::inject
