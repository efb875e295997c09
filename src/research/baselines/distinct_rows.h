// SPDX-License-Identifier: Apache-2.0
//
// DistinctRows contains the distinct rows of feature columns and how often each occurs. Counters
// repeat: a million launches of a deterministic program have a few thousand distinct rows, and
// clustering the rows weighted by their counts is equivalent to clustering the launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stemtap::research {

struct DistinctRows {
  std::size_t columns = 0;
  // In order of first occurrence.
  std::vector<double> values;         // row r is [r * columns, (r + 1) * columns)
  std::vector<std::uint64_t> counts;  // number of launches with the row
  std::vector<std::uint64_t> first;   // the first of these launches
  std::vector<std::uint32_t> row_of;  // by position in `invocations`

  std::size_t size() const { return counts.size(); }
  std::span<const double> row(std::size_t r) const {
    return std::span(values).subspan(r * columns, columns);
  }
};

// Finds the distinct rows of `invocations`, which ascend. REQUIRES: these rows contain no NaN; each
// column covers them.
DistinctRows FindDistinctRows(std::span<const std::uint64_t> invocations,
                              std::span<const std::span<const double>> columns);

}  // namespace stemtap::research
