// SPDX-License-Identifier: Apache-2.0
//
// CuptiClaim makes CUPTI record kernels into our buffers, and notices when another profiler has
// taken CUPTI over.
//
// THREADS: one at a time: the initializing thread, then the flusher.
#pragma once

#include <cstddef>
#include <cstdint>

#include "startup/cupti_api.h"
#include "startup/options.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class CuptiClaim {
 public:
  void Init(const CuptiApi& api, SessionFiles& files, const Options& options,
            CUpti_BuffersCallbackRequestFunc request,
            CUpti_BuffersCallbackCompleteFunc complete) noexcept;

  // Claims CUPTI, whichever client used it before. On failure writes the reason to `problem` and
  // returns false.
  bool Claim(char* problem, std::size_t problem_size) noexcept;

  // Returns whether another profiler has used CUPTI and stopped since the last Claim.
  bool Lost() const noexcept { return attributes_readable_ && !HasOurAttributes(); }

  // Claims CUPTI again and reports the gap.
  void TakeBack() noexcept;

  // Returns whether a graph launch yields one record.
  bool times_graphs() const noexcept {
    return (enabled_ >> CUPTI_ACTIVITY_KIND_GRAPH_TRACE & 1) != 0;
  }

  // Counts a time during which another profiler received our records.
  void ReportGap() noexcept;
  bool has_gap() const noexcept { return has_gap_; }

  // Disables what Claim enabled. Data that CUPTI already has can still be fetched.
  void Release() noexcept;

 private:
  // Number of activity kinds that enabled_ has a bit for; CUPTI has 60 so far.
  static constexpr std::uint32_t kKinds = 64;

  CUptiResult Enable(CUpti_ActivityKind kind) noexcept;
  void EnableGraphs() noexcept;
  bool HasOurAttributes() const noexcept;

  const CuptiApi* api_ = nullptr;
  SessionFiles* files_ = nullptr;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  Level level_ = Level::kKernels;
  bool wants_overhead_ = false;
  bool attributes_readable_ = false;  // CUPTI returns the attributes that we set
  bool has_gap_ = false;              // another profiler has used CUPTI
  std::uint64_t enabled_ = 0;         // bit n: we have enabled kind n
};

}  // namespace stemtap::inject
