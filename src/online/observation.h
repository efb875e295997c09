// SPDX-License-Identifier: Apache-2.0
//
// Observation and CapturedLaunch are what the online sampler knows of one launch.
#pragma once

#include <cstdint>

#include "model/plan.h"
#include "shm/record.h"

namespace stemtap::online {

// Observation is one launch whose duration has been recorded.
struct Observation {
  shm::KernelRecord record;      // name_id contains the sampler's kernel id
  std::uint64_t index = 0;       // launch index
  std::uint64_t occurrence = 0;  // 0-based, among the launches of this kernel name
  std::uint64_t config_key = 0;
  std::uint64_t history_key = 0;
  std::uint64_t node_key = 0;  // NodeKey if the gate looks it up, else 0
};

// CapturedLaunch is one capture. `recorded_ns` and `captured` are used only if captures perturb
// launches.
struct CapturedLaunch {
  model::PlanSample sample;
  std::uint64_t recorded_ns = 0;
  std::uint32_t captured = 0;  // id in NativeTimes
  // The sketch bin that determines the cluster: the bin of the duration or, if captures perturb
  // launches, of the mean of the launch's group.
  std::uint32_t bin = 0;

  bool explored() const { return (sample.record.flags & shm::kFlagExploratory) != 0; }
};

}  // namespace stemtap::online
