// SPDX-License-Identifier: Apache-2.0
//
// LaunchSelection is which launches a run samples, and whether their ranges are part of their
// kernels (shm/launch_selection.h). SelectLaunches applies it to a recorded run; in a live run, the
// traced process does.
//
// THREADS: none.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model/plan.h"
#include "model/profile.h"
#include "shm/launch_selection.h"

namespace stemtap::model {

struct LaunchSelection {
  bool by_range = false;     // --ranges
  bool by_operator = false;  // ranges are operators of the program; only in recorded runs
  std::string only_range;    // --only-range: names, separated by commas; empty: all launches
  shm::StepWindow steps;     // --skip-steps, --steps

  // Whether launches are grouped by range.
  bool has_ranges() const { return by_range || by_operator || !only_range.empty(); }
  // Whether launches are grouped by range or selected.
  bool is_set() const { return has_ranges() || !steps.all(); }
};

// Returns the selection of a plan with these options.
LaunchSelection SelectionOf(const OptionList& options);

// Appends the options of a selection that are set.
void AppendOptions(const LaunchSelection& selection, OptionList& options);

// CountedRange is the range that a launch counts to, and whether it is selected by its range.
struct CountedRange {
  std::string_view range;  // empty: outside of all ranges, or launches are not grouped by range
  bool is_selected = true;
};

// `path`: the names of the open ranges, joined by '/'. The result refers to its arguments.
CountedRange CountedRangeOf(const LaunchSelection& selection, std::string_view path);

// Returns a reader of the launches of `reader` in which the names have the ranges that `selection`
// gives them, and launches that are not selected have shm::kFlagOutside.
std::unique_ptr<ProfileReader> SelectLaunches(std::unique_ptr<ProfileReader> reader,
                                              const LaunchSelection& selection);

}  // namespace stemtap::model
