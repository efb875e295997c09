// SPDX-License-Identifier: Apache-2.0
//
// PlanSummary describes a plan for people: the totals, what the bound covers, and its kernels.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/wrap.h"
#include "model/plan.h"
#include "model/row_view.h"

namespace stemtap::model {

// Returns a line, without its end, about where in the run the samples are and how unequal their
// weights are: "samples: launches 12 to 390000 of 400000, the middle half 101000 to 300100; largest
// weight 598". Samples that are close together say little about the rest of the run. Empty if there
// are no samples.
std::string SampleSpread(const Plan& plan);

// What the kernels of a summary can be sorted by. The first is the default.
std::span<const char* const> PlanSortKeys();

// Number of kernels in a summary of about one screen.
inline constexpr std::size_t kSummaryKernels = 12;

// SummaryTable is which kernels a summary has, and how wide its lines are.
struct SummaryTable {
  RowChoice rows = {.top = kSummaryKernels};
  // By default, the lines of a file: names of 60 columns, and text that is not wrapped.
  std::size_t width = 111;
  std::size_t text_width = kUnlimitedWidth;
};

// Returns the totals, then a table of kernels. Kernel names are escaped.
std::string PlanSummary(const Plan& plan, const SummaryTable& table = {});

}  // namespace stemtap::model
