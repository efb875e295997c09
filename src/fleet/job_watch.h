// SPDX-License-Identifier: Apache-2.0
//
// JobWatch follows the runs of a job while they go on, and compares them. It only reads.
//
// THREADS: none.  SOURCE: docs/design/fleet.md, "Which rank is slow".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fleet/job.h"
#include "fleet/rank_comparison.h"
#include "model/kernel_id.h"

namespace stemtap::fleet {

class JobWatch {
 public:
  JobWatch(RedisUrl url, const std::string& name) : job_(std::move(url), name) {}

  // Reads what has changed. Fails if the server cannot be reached, or returns other data than a
  // job's; the next call tries again.
  Status Refresh();

  // Whether no run has entered the job.
  bool is_empty() const { return runs_.empty(); }

  // Compares the runs, ordered by rank. A rank that was started again has several runs.
  RankComparison Ranks() const;

 private:
  Status Read();
  // Returns the state of the run, which is added if it is new.
  RunState& StateOf(const RunInfo& run);

  Job job_;
  std::vector<RunState> runs_;  // by rank and id
  // For each run, the places of its captures by kernel and launch.
  std::map<std::string, std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t>> captures_;
  std::map<std::uint64_t, model::KernelId> kernels_;
  std::set<std::string> silent_;
};

}  // namespace stemtap::fleet
