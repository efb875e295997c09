// SPDX-License-Identifier: Apache-2.0
#include "fleet/job_watch.h"

#include <algorithm>

namespace stemtap::fleet {

RunState& JobWatch::StateOf(const RunInfo& run) {
  const auto place = [](const RunInfo& info) { return std::pair(info.rank, info.id); };
  const auto at = std::lower_bound(runs_.begin(), runs_.end(), run,
                                   [&](const RunState& state, const RunInfo& sought) {
                                     return place(state.run) < place(sought);
                                   });
  if (at != runs_.end() && at->run.id == run.id) return *at;
  return *runs_.insert(at, RunState{run, {}, {}, {}, {}});
}

Status JobWatch::Refresh() {
  Status read = Read();
  // What was read before the failure would not be read again.
  if (!read.ok()) job_.ReadFromStart();
  return read;
}

Status JobWatch::Read() {
  bool has_new_kernels = false;
  for (RunState& changed : STEMTAP_TRY(job_.ReadChanges())) {
    RunState& known = StateOf(changed.run);
    known.run = changed.run;
    for (auto& [key, sketch] : changed.sketches) {
      has_new_kernels = has_new_kernels || !kernels_.contains(key);
      known.sketches.insert_or_assign(key, std::move(sketch));
    }
    for (const auto& capture : changed.captures) {
      // A server that has lost something gets captures again, and imputed durations change.
      const auto [at, is_new] = captures_[known.run.id].try_emplace(
          {capture.first, capture.second.sample.index}, known.captures.size());
      if (is_new) {
        known.captures.push_back(capture);
      } else {
        known.captures[at->second] = capture;
      }
    }
  }
  if (has_new_kernels) kernels_ = STEMTAP_TRY(job_.ReadKernels());
  const std::vector<std::string> silent = STEMTAP_TRY(job_.ReadSilent());
  silent_ = {silent.begin(), silent.end()};
  return Success{};
}

RankComparison JobWatch::Ranks() const {
  RankComparison comparison = CompareRanks(runs_, kernels_);
  for (RankRow& rank : comparison.ranks) {
    rank.is_silent = !rank.run.has_ended && silent_.contains(rank.run.id);
  }
  return comparison;
}

}  // namespace stemtap::fleet
