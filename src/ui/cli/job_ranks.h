// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a job, and which of them are slow, while it runs or after: for stemtap stats --fleet
// and stemtap top --fleet, and for the session of the job.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fleet/job_watch.h"
#include "fleet/rank_comparison.h"
#include "fleet/redis.h"

namespace stemtap::ui {

// Returns the ranks as JSON (docs/formats/stats.md, "Ranks of a job").
std::string RanksJson(const fleet::RankComparison& comparison, const std::string& job);

// Returns a line for each slow rank.
std::vector<std::string> SlowRanks(const fleet::RankComparison& comparison);

class JobRanks {
 public:
  JobRanks(fleet::RedisUrl server, const std::string& job)
      : watch_(std::move(server), job), name_(job) {}

  // Reads what has changed. Fails if the server cannot be reached or does not know the job.
  Status Refresh();

  // Returns the ranks as a table with lines of at most `width` columns, or as JSON.
  std::string Text(std::size_t width) const;
  std::string Json() const { return RanksJson(watch_.Ranks(), name_); }

 private:
  fleet::JobWatch watch_;
  std::string name_;
};

}  // namespace stemtap::ui
