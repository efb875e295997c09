// SPDX-License-Identifier: Apache-2.0
#include "recording/cupti_claim.h"

#include <stdio.h>

namespace stemtap::inject {

void CuptiClaim::Init(const CuptiApi& api, SessionFiles& files, const Options& options,
                      CUpti_BuffersCallbackRequestFunc request,
                      CUpti_BuffersCallbackCompleteFunc complete) noexcept {
  api_ = &api;
  files_ = &files;
  request_ = request;
  complete_ = complete;
  level_ = options.level;
  wants_overhead_ = options.max_overhead != 0;
}

bool CuptiClaim::Claim(char* problem, std::size_t problem_size) noexcept {
  attributes_readable_ = false;
  // Our buffers are zeroed, so zeroing on the launching thread is switched off. One buffer per
  // thread saves launches a lock. Older versions do not support these attributes and record without
  // them.
  const auto set = [this](CUpti_ActivityAttribute attribute, std::uint8_t value) {
    std::size_t size = sizeof(value);
    api_->ActivitySetAttribute(attribute, &size, &value);
  };
  set(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
  set(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 1);

  const auto check = [&](CUptiResult result, const char* call) {
    if (result == CUPTI_SUCCESS) return true;
    ::snprintf(problem, problem_size, "%s failed: error %d %s", call, static_cast<int>(result),
               api_->Describe(result));
    return false;
  };
  if (!check(api_->ActivityRegisterCallbacks(request_, complete_),
             "cuptiActivityRegisterCallbacks")) {
    return false;
  }
  if (!check(Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable")) {
    return false;
  }
  if (level_ == Level::kGraph) {
    EnableGraphs();
  } else if (api_->leaks_graph_memory()) {
    Enable(CUPTI_ACTIVITY_KIND_MEMCPY);
    Enable(CUPTI_ACTIVITY_KIND_MEMSET);
  }
  if (wants_overhead_) Enable(CUPTI_ACTIVITY_KIND_OVERHEAD);
  attributes_readable_ = HasOurAttributes();
  return true;
}

CUptiResult CuptiClaim::Enable(CUpti_ActivityKind kind) noexcept {
  const CUptiResult result = api_->ActivityEnable(kind);
  if (result == CUPTI_SUCCESS) enabled_ |= std::uint64_t{1} << kind;
  return result;
}

// From now on, a graph launch yields one record and its kernels none.
void CuptiClaim::EnableGraphs() noexcept {
  const CUptiResult result = Enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (result == CUPTI_SUCCESS) return;
  char remark[sizeof(shm::RingHeader::reason)];
  ::snprintf(remark, sizeof(remark),
             "this CUPTI cannot time a graph launch as one (error %d %s); its kernels are timed",
             static_cast<int>(result), api_->Describe(result));
  files_->Remark(remark);
}

// Returns whether CUPTI's attributes are as Claim left them. No CUPTI call reports whose
// callbacks are registered, so this is the best check that does not disturb another client. Kineto
// sets PER_THREAD back to 0 when it stops, after it has disabled the kinds
// (CuptiActivityApi::activityBuffers), and cuptiFinalize resets everything.
bool CuptiClaim::HasOurAttributes() const noexcept {
  for (const CUpti_ActivityAttribute attribute : {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
                                                  CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER}) {
    std::uint8_t value = 0;
    std::size_t size = sizeof(value);
    if (api_->ActivityGetAttribute == nullptr ||
        api_->ActivityGetAttribute(attribute, &size, &value) != CUPTI_SUCCESS || value != 1) {
      return false;
    }
  }
  return true;
}

void CuptiClaim::ReportGap() noexcept {
  files_->Count(shm::Loss::kGaps);
  if (has_gap_) return;
  has_gap_ = true;
  files_->Remark("another profiler used CUPTI; launches during that time are not recorded");
}

void CuptiClaim::TakeBack() noexcept {
  char problem[sizeof(shm::RingHeader::reason)];
  const bool claimed = Claim(problem, sizeof(problem));
  ReportGap();
  if (!claimed) {
    char remark[sizeof(shm::RingHeader::reason)];
    ::snprintf(remark, sizeof(remark), "recording did not resume: %.100s", problem);
    files_->Remark(remark);
  }
}

void CuptiClaim::Release() noexcept {
  for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
    if ((enabled_ >> kind & 1) != 0) api_->ActivityDisable(static_cast<CUpti_ActivityKind>(kind));
  }
}

}  // namespace stemtap::inject
