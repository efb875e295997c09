// SPDX-License-Identifier: Apache-2.0
//
// ApiCall reports one call to the simulated CUPTI: it numbers the call and reports its entry
// and, when it goes out of scope, its exit. Without a listener it costs one load.
#pragma once

#include "cuda/objects.h"
#include "cuda/state.h"

namespace fake_gpu {

class ApiCall {
 public:
  // `params` is the struct of generated_cuda_meta.h for `cbid`. REQUIRES: it outlives this object.
  ApiCall(std::uint32_t cbid, const char* function_name, const void* params,
          const char* symbol_name, CUctx_st* context)
      : correlation_id_(NextCorrelation()), hooks_(HooksFor(FAKE_GPU_INTEREST_API)) {
    if (hooks_ == nullptr) return;
    call_ = {cbid,
             function_name,
             params,
             symbol_name,
             context,
             context == nullptr ? 0 : context->uid,
             correlation_id_,
             0,
             CUDA_SUCCESS};
    hooks_->api(&call_, 0);
  }
  ~ApiCall() {
    if (hooks_ != nullptr) hooks_->api(&call_, 1);
  }
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  std::uint32_t correlation_id() const { return correlation_id_; }

  CUresult Return(CUresult result) {
    if (hooks_ != nullptr) call_.result = result;
    return result;
  }

 private:
  const std::uint32_t correlation_id_;
  const FakeGpuHooks* const hooks_;
  FakeGpuApiCall call_;  // set if hooks_ is set
};

}  // namespace fake_gpu
