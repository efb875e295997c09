// SPDX-License-Identifier: Apache-2.0
//
// Options shared by run, replay, plan and demo. One table defines their names, ranges, help text,
// and the list of options that every result file contains; their defaults are in SamplingOptions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "sampling/sampling_options.h"
#include "session/flags/command_line.h"

namespace stemtap::session {

// Reads the value of --capture-cost: FIXED[+FACTOR], or the name of a tool. Fails with what was
// expected.
//
//   100ms+10   a captured launch costs 100 ms plus ten times its duration
//   0          only the duration matters (the default)
Result<sampling::CapturePrice> ParseCaptureCost(std::string_view text);

// Returns what is wrong with the value, or an empty string (OptionSpec::check).
std::string CaptureCostError(std::string& value);

// Returns the help text of the option, which lists the tools.
std::string CaptureCostHelp();

// Limits of an error bound. A bound of 100 % or more states nothing, and 1 is usually a mistake
// for 1%.
inline constexpr double kMinErrorBound = 1e-6;
inline constexpr double kMaxErrorBound = 0.99;

// Returns what is wrong with the value of --only-range; empty if nothing is.
std::string OnlyRangeError(std::string& value);

class SamplingFlags {
 public:
  // Adds the options to `command`, which refers to this object. `more_methods` (name, help) are
  // additional methods that the command offers.
  void AddTo(CommandSpec& command,
             const std::vector<std::pair<std::string, std::string>>& more_methods = {});

  // Adds the options that only a two-pass plan supports. Call after AddTo.
  void AddTwoPassTo(CommandSpec& command);
  // Adds --pool-small, which only 'plan' supports.
  void AddPoolTo(CommandSpec& command);

  // Fails with a usage error if an option is set that only a two-pass plan supports.
  Status CheckOnline() const;
  // Fails with a usage error if options of a two-pass plan exclude each other.
  Status CheckTwoPass() const;
  // Whether the ranges and steps can be used; the other checks include it.
  Status CheckSelection() const;

  // REQUIRES: the parser accepted the values.
  sampling::SamplingOptions Options() const;
  // Returns every option with its given or default value. Excludes thread counts, which must not
  // change a result.
  model::OptionList Listed() const;
  unsigned threads() const { return threads_; }
  std::string method() const;
  const std::string& other_method() const { return other_method_; }
  const std::string& capture_cost() const { return capture_cost_; }

 private:
  static constexpr double kNotSet = -1.0;

  bool is_optimal() const;
  // Returns the share of the time that may get no samples: the given one or the default.
  double MaxUncovered() const;

  sampling::SamplingOptions options_;  // without price and max_uncovered, which Options() adds
  std::string other_method_;           // one of the additional methods; empty: options_.method
  std::string capture_cost_ = "0";
  double max_uncovered_ = kNotSet;
  unsigned threads_ = 0;
};

}  // namespace stemtap::session
