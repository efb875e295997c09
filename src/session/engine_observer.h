// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "model/name_table.h"
#include "online/online_sampler.h"
#include "session/capture_marks.h"

namespace stemtap::session {

// EngineObserver receives what the sampler decides, after each epoch. All arguments are valid only
// during the call.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  // `marks`: of the captures.
  virtual void OnDecisions(std::span<const online::MaskEvent>, const model::NameTable&,
                           const CaptureMarks& /*marks*/) {}
  // Called for each new sample allocation.
  virtual void OnAllocation(const online::SamplerStatus&) {}
};

}  // namespace stemtap::session
