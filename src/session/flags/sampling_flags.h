// SPDX-License-Identifier: Apache-2.0
//
// The options that run, replay, plan and demo share: one table gives their names, defaults, ranges,
// help, and the list of options in force that every file of results carries.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "sampling/sampling_options.h"

namespace stemtap {

class SamplingFlags {
 public:
  // Adds the options to `command`, which must not outlive this object. `more_methods` (name, help)
  // are methods that the command offers besides the sampler's own.
  void AddTo(CLI::App& command,
             const std::vector<std::pair<std::string, std::string>>& more_methods = {});

  // Wrong use of what samples online: options that only a two-pass plan obeys.
  Status CheckOnline() const;

  SamplingOptions Options() const;
  // Every option in force, as it was given or defaulted. Thread counts are left out: they must not
  // change a result.
  OptionList Listed() const;
  unsigned threads() const { return threads_; }
  const std::string& method() const { return method_; }

 private:
  double error_bound_ = 0.05;
  double confidence_ = 0.95;
  std::string method_ = "optimal";
  std::string bound_ = "workload";
  std::uint64_t min_samples_ = SamplingOptions().min_samples;
  std::string selection_ = "random";
  std::string group_by_ = "name";
  std::string exclude_;
  std::string weights_ = "calibrated";
  std::uint64_t seed_ = 1;
  unsigned threads_ = 0;
};

}  // namespace stemtap
